//! How much of each frame the kernel copies: all of a frame to or from one of the ports, the headers of any other.

use libc::sock_filter;
use std::collections::BTreeSet;

const ALL: u32 = 1 << 20;
/// Bytes of other frames: their headers, so that they are counted.
const HEADERS: u32 = 128;
/// With more ports the jumps of a program do not reach its end.
const MOST_PORTS: usize = 50;

const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_BEHIND: u16 = 0x48;
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Where a jump leads.
#[derive(Clone, Copy)]
enum Way {
    On,
    All,
    Headers,
    Six,
}

enum Step {
    Do(u16, u32),
    If(u16, u32, Way, Way),
    /// IPv6 begins here.
    Six,
}

/// The program for Ethernet frames; None where there are too many ports.
pub fn program(ports: &BTreeSet<u16>) -> Option<Vec<sock_filter>> {
    if ports.len() > MOST_PORTS {
        return None;
    }
    let mut steps = vec![
        Step::Do(LOAD_HALF, 12),
        Step::If(IF_EQUAL, 0x86dd, Way::Six, Way::On),
        Step::If(IF_EQUAL, 0x0806, Way::Headers, Way::On),
        Step::If(IF_EQUAL, 0x0800, Way::On, Way::All), // others may have a tag before IP
        Step::Do(LOAD_BYTE, 23),
        Step::If(IF_EQUAL, 6, Way::On, Way::Headers),
        Step::Do(LOAD_HALF, 20),
        Step::If(IF_ANY_BIT, 0x3fff, Way::All, Way::On), // a fragment
        Step::Do(LOAD_HEADER_LENGTH, 14),
    ];
    compared(&mut steps, LOAD_HALF_BEHIND, [14, 16], ports);
    steps.push(Step::Six);
    steps.extend([
        Step::Do(LOAD_BYTE, 20),
        Step::If(IF_EQUAL, 17, Way::Headers, Way::On),
        Step::If(IF_EQUAL, 58, Way::Headers, Way::On),
        Step::If(IF_EQUAL, 6, Way::On, Way::All), // others are extension headers
    ]);
    compared(&mut steps, LOAD_HALF, [54, 56], ports);
    Some(assembled(&steps))
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
    let size = steps.iter().filter(|one| !matches!(one, Step::Six)).count();
    let six = steps
        .iter()
        .take_while(|one| !matches!(one, Step::Six))
        .count();
    let target = |way: Way, at: usize| match way {
        Way::On => 0,
        Way::All => (size - at - 1) as u8,
        Way::Headers => (size - at) as u8,
        Way::Six => (six - at - 1) as u8,
    };
    let made = steps.iter().filter_map(|one| match one {
        Step::Do(code, k) => Some((*code, *k, Way::On, Way::On)),
        Step::If(code, k, yes, no) => Some((*code, *k, *yes, *no)),
        Step::Six => None,
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
            let mut datagram = Vec::new();
            PacketBuilder::ethernet2([1; 6], [2; 6])
                .ipv4([1; 4], [2; 4], 9)
                .udp(389, 389)
                .write(&mut datagram, b"x")
                .unwrap();
            assert_eq!(run(&program, &datagram), HEADERS);
        }
        assert!(program(&(0..51).collect()).is_none());
    }
}
