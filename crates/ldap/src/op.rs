//! The protocol operations: the tag of each, with its name.

/// A bind request.
pub const BIND: u8 = 0x60;
/// The answer to a bind.
pub const BIND_RESPONSE: u8 = 0x61;
/// An unbind request, which has no answer.
pub const UNBIND: u8 = 0x42;
/// A search request.
pub const SEARCH: u8 = 0x63;
/// One entry that a search found.
pub const SEARCH_ENTRY: u8 = 0x64;
/// The end of a search.
pub const SEARCH_DONE: u8 = 0x65;
/// A place where a search goes on.
pub const SEARCH_REFERENCE: u8 = 0x73;
/// A modify request.
pub const MODIFY: u8 = 0x66;
/// The answer to a modify.
pub const MODIFY_RESPONSE: u8 = 0x67;
/// An add request.
pub const ADD: u8 = 0x68;
/// The answer to an add.
pub const ADD_RESPONSE: u8 = 0x69;
/// A delete request: its body is the DN.
pub const DELETE: u8 = 0x4a;
/// The answer to a delete.
pub const DELETE_RESPONSE: u8 = 0x6b;
/// A request to rename or move an entry.
pub const RENAME: u8 = 0x6c;
/// The answer to a rename.
pub const RENAME_RESPONSE: u8 = 0x6d;
/// A compare request.
pub const COMPARE: u8 = 0x6e;
/// The answer to a compare.
pub const COMPARE_RESPONSE: u8 = 0x6f;
/// A request to abandon another one: its body is the message id. It has no answer.
pub const ABANDON: u8 = 0x50;
/// An extended request.
pub const EXTENDED: u8 = 0x77;
/// The answer to an extended request, or a notice of the server (message id 0).
pub const EXTENDED_RESPONSE: u8 = 0x78;
/// An answer before the last one.
pub const INTERMEDIATE: u8 = 0x79;

/// The extended request that begins TLS.
pub const START_TLS: &str = "1.3.6.1.4.1.1466.20037";

/// The word for an operation; None where LDAP has no such tag.
#[must_use]
pub fn name(tag: u8) -> Option<&'static str> {
    Some(match tag {
        BIND | BIND_RESPONSE => "bind",
        UNBIND => "unbind",
        SEARCH | SEARCH_ENTRY | SEARCH_DONE | SEARCH_REFERENCE => "search",
        MODIFY | MODIFY_RESPONSE => "modify",
        ADD | ADD_RESPONSE => "add",
        DELETE | DELETE_RESPONSE => "delete",
        RENAME | RENAME_RESPONSE => "rename",
        COMPARE | COMPARE_RESPONSE => "compare",
        ABANDON => "abandon",
        EXTENDED | EXTENDED_RESPONSE => "extended",
        INTERMEDIATE => "intermediate",
        _ => return None,
    })
}

/// The tag of the answer that ends a request; None for requests without one and for answers.
#[must_use]
pub fn answer(request: u8) -> Option<u8> {
    Some(match request {
        BIND => BIND_RESPONSE,
        SEARCH => SEARCH_DONE,
        MODIFY => MODIFY_RESPONSE,
        ADD => ADD_RESPONSE,
        DELETE => DELETE_RESPONSE,
        RENAME => RENAME_RESPONSE,
        COMPARE => COMPARE_RESPONSE,
        EXTENDED => EXTENDED_RESPONSE,
        _ => return None,
    })
}

/// Whether a client sends this tag.
#[must_use]
pub fn is_request(tag: u8) -> bool {
    answer(tag).is_some() || tag == UNBIND || tag == ABANDON
}

/// Result codes by name, as in RFC 4511 and the registry of RFC 4520.
const CODES: &[(u32, &str)] = &[
    (0, "success"),
    (1, "operationsError"),
    (2, "protocolError"),
    (3, "timeLimitExceeded"),
    (4, "sizeLimitExceeded"),
    (5, "compareFalse"),
    (6, "compareTrue"),
    (7, "authMethodNotSupported"),
    (8, "strongerAuthRequired"),
    (10, "referral"),
    (11, "adminLimitExceeded"),
    (12, "unavailableCriticalExtension"),
    (13, "confidentialityRequired"),
    (14, "saslBindInProgress"),
    (16, "noSuchAttribute"),
    (17, "undefinedAttributeType"),
    (18, "inappropriateMatching"),
    (19, "constraintViolation"),
    (20, "attributeOrValueExists"),
    (21, "invalidAttributeSyntax"),
    (32, "noSuchObject"),
    (33, "aliasProblem"),
    (34, "invalidDNSyntax"),
    (36, "aliasDereferencingProblem"),
    (48, "inappropriateAuthentication"),
    (49, "invalidCredentials"),
    (50, "insufficientAccessRights"),
    (51, "busy"),
    (52, "unavailable"),
    (53, "unwillingToPerform"),
    (54, "loopDetect"),
    (64, "namingViolation"),
    (65, "objectClassViolation"),
    (66, "notAllowedOnNonLeaf"),
    (67, "notAllowedOnRDN"),
    (68, "entryAlreadyExists"),
    (69, "objectClassModsProhibited"),
    (71, "affectsMultipleDSAs"),
    (80, "other"),
    (118, "canceled"),
    (119, "noSuchOperation"),
    (120, "tooLate"),
    (121, "cannotCancel"),
    (122, "assertionFailed"),
    (123, "authorizationDenied"),
    (4096, "e-syncRefreshRequired"),
];

/// The name of a result code; `unknownResult` where it has none.
#[must_use]
pub fn code_name(code: u32) -> &'static str {
    let found = CODES.iter().find(|(known, _)| *known == code);
    found.map_or("unknownResult", |(_, name)| name)
}

/// The result code of this name.
#[must_use]
pub fn code_of(name: &str) -> Option<u32> {
    let found = CODES.iter().find(|(_, known)| *known == name);
    found.map(|(code, _)| *code)
}
