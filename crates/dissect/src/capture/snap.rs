//! How much of each frame the kernel copies: all of a frame to or from one of the ports or in a tunnel, the headers of any other.

use libc::sock_filter;
use std::collections::BTreeSet;

const ALL: u32 = 1 << 20;
/// Bytes of other frames: their headers, so that they are counted.
const HEADERS: u32 = 128;
/// With more ports the jumps of a program do not reach its end.
const MOST_PORTS: usize = 45;

const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_BEHIND: u16 = 0x48;
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Datagrams with tunnels, and those of LDAP itself.
const DATAGRAMS: [u16; 7] = [4789, 8472, 4790, 6081, 6635, 37_008, LDAP];
const LDAP: u16 = 389;
/// Packets in IP: IP, IPv6, GRE, Ethernet, MPLS.
const PACKETS: [u32; 5] = [4, 41, 47, 97, 137];

/// A place in the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Six,
    FourTcp,
    SixTcp,
}

/// Where a jump leads.
#[derive(Clone, Copy)]
enum Way {
    On,
    All,
    Headers,
    To(Label),
}

enum Step {
    Do(u16, u32),
    If(u16, u32, Way, Way),
    Here(Label),
}

/// The program for Ethernet frames; None where there are too many ports.
pub fn program(ports: &BTreeSet<u16>) -> Option<Vec<sock_filter>> {
    if ports.len() > MOST_PORTS {
        return None;
    }
    let mut steps = vec![
        Step::Do(LOAD_HALF, 12),
        Step::If(IF_EQUAL, 0x86dd, Way::To(Label::Six), Way::On),
        Step::If(IF_EQUAL, 0x0806, Way::Headers, Way::On),
        Step::If(IF_EQUAL, 0x0800, Way::On, Way::All), // others may have a tag before IP
        Step::Do(LOAD_BYTE, 23),
        Step::If(IF_EQUAL, 6, Way::To(Label::FourTcp), Way::On),
    ];
    let tunnels = PACKETS.map(|number| Step::If(IF_EQUAL, number, Way::All, Way::On));
    steps.extend(tunnels);
    steps.extend([
        Step::If(IF_EQUAL, 17, Way::On, Way::Headers),
        Step::Do(LOAD_HALF, 20),
        Step::If(IF_ANY_BIT, 0x1fff, Way::Headers, Way::On), // without its ports
        Step::Do(LOAD_HEADER_LENGTH, 14),
    ]);
    datagrams(&mut steps, LOAD_HALF_BEHIND, [14, 16]);
    steps.extend([
        Step::Here(Label::FourTcp),
        Step::Do(LOAD_HALF, 20),
        Step::If(IF_ANY_BIT, 0x3fff, Way::All, Way::On), // a fragment
        Step::Do(LOAD_HEADER_LENGTH, 14),
    ]);
    compared(&mut steps, LOAD_HALF_BEHIND, [14, 16], ports);
    steps.extend([
        Step::Here(Label::Six),
        Step::Do(LOAD_BYTE, 20),
        Step::If(IF_EQUAL, 6, Way::To(Label::SixTcp), Way::On),
        Step::If(IF_EQUAL, 58, Way::Headers, Way::On),
        Step::If(IF_EQUAL, 17, Way::On, Way::All), // others are extension headers or tunnels
    ]);
    datagrams(&mut steps, LOAD_HALF, [54, 56]);
    steps.push(Step::Here(Label::SixTcp));
    compared(&mut steps, LOAD_HALF, [54, 56], ports);
    Some(assembled(&steps))
}

/// Where a datagram goes, and whether it is an answer of LDAP.
fn datagrams(steps: &mut Vec<Step>, load: u16, [from, to]: [u32; 2]) {
    steps.push(Step::Do(load, to));
    let wanted = DATAGRAMS.map(|port| Step::If(IF_EQUAL, port.into(), Way::All, Way::On));
    steps.extend(wanted);
    steps.push(Step::Do(load, from));
    steps.push(Step::If(IF_EQUAL, LDAP.into(), Way::All, Way::Headers));
}

/// Both ports against all that there are; where none is equal, the headers are enough.
fn compared(steps: &mut Vec<Step>, load: u16, places: [u32; 2], ports: &BTreeSet<u16>) {
    let last = places.len() * ports.len();
    let mut at = 0;
    for place in places {
        steps.push(Step::Do(load, place));
        for port in ports {
            at += 1;
            let otherwise = if at == last { Way::Headers } else { Way::On };
            steps.push(Step::If(IF_EQUAL, u32::from(*port), Way::All, otherwise));
        }
    }
}

fn assembled(steps: &[Step]) -> Vec<sock_filter> {
    let is_done = |one: &&Step| !matches!(one, Step::Here(_));
    let size = steps.iter().filter(is_done).count();
    let place = |label: Label| {
        let before = steps
            .iter()
            .take_while(|one| !matches!(one, Step::Here(found) if *found == label));
        before.filter(is_done).count()
    };
    let target = |way: Way, at: usize| match way {
        Way::On => 0,
        Way::All => (size - at - 1) as u8,
        Way::Headers => (size - at) as u8,
        Way::To(label) => (place(label) - at - 1) as u8,
    };
    let made = steps.iter().filter_map(|one| match one {
        Step::Do(code, k) => Some((*code, *k, Way::On, Way::On)),
        Step::If(code, k, yes, no) => Some((*code, *k, *yes, *no)),
        Step::Here(_) => None,
    });
    let instructions = made
        .enumerate()
        .map(|(at, (code, k, yes, no))| sock_filter {
            code,
            jt: target(yes, at),
            jf: target(no, at),
            k,
        });
    let returns = [ALL, HEADERS].map(|k| sock_filter {
        code: RETURN,
        jt: 0,
        jf: 0,
        k,
    });
    instructions.chain(returns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    /// What the kernel does with a program.
    fn run(program: &[sock_filter], frame: &[u8]) -> u32 {
        let (mut a, mut x, mut at) = (0_u32, 0_usize, 0);
        let half = |at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        loop {
            let one = program[at];
            at += 1;
            match one.code {
                LOAD_HALF => a = half(one.k as usize),
                LOAD_BYTE => a = u32::from(frame[one.k as usize]),
                LOAD_HALF_BEHIND => a = half(x + one.k as usize),
                LOAD_HEADER_LENGTH => x = 4 * usize::from(frame[one.k as usize] & 15),
                IF_EQUAL => at += usize::from(if a == one.k { one.jt } else { one.jf }),
                IF_ANY_BIT => at += usize::from(if a & one.k != 0 { one.jt } else { one.jf }),
                RETURN => return one.k,
                code => panic!("{code:x}"),
            }
        }
    }

    #[test]
    fn frames_of_the_ports_are_copied_as_a_whole() {
        for count in [1, 4, MOST_PORTS as u16] {
            let ports: BTreeSet<u16> = (389..389 + count).collect();
            let program = program(&ports).unwrap();
            for (from, to, copied) in [
                (40_000, 389, ALL),
                (388 + count, 40_000, ALL),
                (40_000, 40_001, HEADERS),
            ] {
                let (mut four, mut six) = (Vec::new(), Vec::new());
                let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
                ethernet()
                    .ipv4([1; 4], [2; 4], 9)
                    .tcp(from, to, 1, 1)
                    .write(&mut four, b"x")
                    .unwrap();
                ethernet()
                    .ipv6([1; 16], [2; 16], 9)
                    .tcp(from, to, 1, 1)
                    .write(&mut six, b"x")
                    .unwrap();
                assert_eq!(
                    (run(&program, &four), run(&program, &six)),
                    (copied, copied),
                    "{from} {to}"
                );
                four[20] |= 0x20;
                assert_eq!(run(&program, &four), ALL, "a fragment");
            }
            for (from, to, copied) in [
                (5_000, 53, HEADERS),
                (5_000, 4789, ALL),
                (5_000, 389, ALL),
                (389, 5_000, ALL),
                (4789, 5_000, HEADERS),
            ] {
                let (mut four, mut six) = (Vec::new(), Vec::new());
                let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
                ethernet()
                    .ipv4([1; 4], [2; 4], 9)
                    .udp(from, to)
                    .write(&mut four, b"x")
                    .unwrap();
                ethernet()
                    .ipv6([1; 16], [2; 16], 9)
                    .udp(from, to)
                    .write(&mut six, b"x")
                    .unwrap();
                let both = (run(&program, &four), run(&program, &six));
                assert_eq!(both, (copied, copied), "{from} {to}");
                four[23] = 47;
                assert_eq!(run(&program, &four), ALL, "a tunnel");
            }
        }
        let more = 0..=MOST_PORTS as u16;
        assert!(program(&more.collect()).is_none());
    }
}
