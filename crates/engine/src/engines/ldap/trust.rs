//! What files hold of who is believed: the password, the certificates.

use super::settings::Settings;
use super::wire::errno;
use crate::protocol::Fault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// The certificates that this machine trusts.
const TRUSTED: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The password of a file, without the end of its line.
pub fn password(path: &str) -> Result<Vec<u8>, Fault> {
    let mut text = std::fs::read(path).map_err(|error| Fault::call("open", path, errno(error)))?;
    while text
        .last()
        .is_some_and(|last| matches!(last, b'\n' | b'\r'))
    {
        text.pop();
    }
    Ok(text)
}

/// The name that the certificate must have.
pub fn server_name(host: &str) -> Result<ServerName<'static>, Fault> {
    ServerName::try_from(host.to_owned()).map_err(|error| {
        Fault::settings(format!(
            "found host {host:?}; expected a name for TLS ({error})"
        ))
    })
}

/// Whose certificates are believed.
pub fn trust(settings: &Settings) -> Result<Arc<ClientConfig>, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::settings(error.to_string()))?;
    if settings.insecure {
        let any = Arc::new(Anyone(provider));
        let builder = builder.dangerous().with_custom_certificate_verifier(any);
        return Ok(Arc::new(builder.with_no_client_auth()));
    }
    let path = settings.ca_file.as_deref().unwrap_or(TRUSTED);
    let unread = |error: &dyn std::fmt::Display| Fault {
        what: "tls",
        path: Some(path.to_owned()),
        errno: None,
        message: format!("no certificates can be read: {error}"),
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unread(&error))?;
        // What a machine's list has of certificates that TLS cannot use is left out.
        let _ = roots.add(certificate);
    }
    if roots.is_empty() {
        return Err(unread(&"the file has none"));
    }
    let config = builder.with_root_certificates(roots);
    Ok(Arc::new(config.with_no_client_auth()))
}

/// Why TLS does not come about.
pub fn untrusted(error: &str) -> String {
    if error.contains("certificate") {
        format!("{error}. Name the certificate of its authority, or allow any certificate")
    } else {
        format!("no TLS with this server: {error}")
    }
}

/// Believes any certificate, where the user allows it; signatures are checked all the same.
#[derive(Debug)]
pub struct Anyone(pub Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
