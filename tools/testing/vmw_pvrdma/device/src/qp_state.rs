// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state machine of queue pairs: which change with which attributes is allowed.
//!
//! Pure rules of the InfiniBand specification, as far as the adapter has the queue pair type.

use crate::abi::attrs::qp_mask as mask;

/// State of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum QpState {
    /// New, or started over: everything is ignored.
    Reset = 0,
    /// Receive buffers may be posted.
    Init = 1,
    /// Messages are received.
    Rtr = 2,
    /// Messages are sent too.
    Rts = 3,
    /// The send queue stops after what it has begun.
    Sqd = 4,
    /// The send queue of a datagram queue pair failed.
    Sqe = 5,
    /// Everything posted completes with an error.
    Err = 6,
}

impl QpState {
    /// All states.
    pub const ALL: [Self; 7] =
        [Self::Reset, Self::Init, Self::Rtr, Self::Rts, Self::Sqd, Self::Sqe, Self::Err];

    /// The state with this number.
    pub fn from_wire(value: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u32 == value)
    }

    /// Whether messages are received.
    pub fn receives(self) -> bool {
        matches!(self, Self::Rtr | Self::Rts | Self::Sqd | Self::Sqe)
    }
}

/// Transport of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum QpType {
    /// The datagram queue pair of the connection managers.
    Gsi = 1,
    /// Reliable connection.
    Rc = 2,
    /// Unreliable datagram.
    Ud = 4,
}

impl QpType {
    /// The type with this number, if the adapter has it.
    pub fn from_wire(value: u8) -> Option<Self> {
        [Self::Gsi, Self::Rc, Self::Ud].into_iter().find(|kind| *kind as u8 == value)
    }
}

/// Attributes that a change must have and may have beside the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of them must be given.
    pub required: u32,
    /// Any of them may be given.
    pub optional: u32,
}

/// The rule for a change of state, or `None` if there is no such change.
pub fn rule(current: QpState, next: QpState, kind: QpType) -> Option<Rule> {
    use QpState::*;

    let rc = kind == QpType::Rc;
    let path = mask::ALT_PATH | mask::PATH_MIG_STATE;
    // A datagram queue pair may change its Q_Key at any time, a connected one its permissions.
    let steady = match rc {
        true => mask::CUR_STATE | mask::ACCESS_FLAGS | mask::MIN_RNR_TIMER | path,
        false => mask::CUR_STATE | mask::QKEY,
    };
    let identity = mask::PKEY_INDEX
        | match kind {
            QpType::Rc => mask::PORT | mask::ACCESS_FLAGS,
            QpType::Ud => mask::PORT | mask::QKEY,
            QpType::Gsi => mask::QKEY,
        };
    let (required, optional) = match (current, next) {
        (Reset, Err) => return None,
        (_, Reset | Err) => (0, 0),
        (Reset, Init) => (identity, 0),
        (Init, Init) => (0, identity),
        (Init, Rtr) if rc => (
            mask::AV
                | mask::PATH_MTU
                | mask::DEST_QPN
                | mask::RQ_PSN
                | mask::MAX_DEST_RD_ATOMIC
                | mask::MIN_RNR_TIMER,
            mask::ALT_PATH | mask::ACCESS_FLAGS | mask::PKEY_INDEX,
        ),
        (Init, Rtr) => (0, mask::PKEY_INDEX | mask::QKEY),
        (Rtr, Rts) if rc => (
            mask::TIMEOUT
                | mask::RETRY_CNT
                | mask::RNR_RETRY
                | mask::SQ_PSN
                | mask::MAX_QP_RD_ATOMIC,
            steady,
        ),
        (Rtr, Rts) => (mask::SQ_PSN, steady),
        (Rts | Sqd, Rts) => (0, steady),
        (Sqe, Rts) if !rc => (0, steady),
        (Rts, Sqd) => (0, mask::EN_SQD_ASYNC_NOTIFY),
        (Sqd, Sqd) if rc => (
            0,
            mask::PORT
                | mask::AV
                | mask::TIMEOUT
                | mask::RETRY_CNT
                | mask::RNR_RETRY
                | mask::MAX_QP_RD_ATOMIC
                | mask::MAX_DEST_RD_ATOMIC
                | mask::ACCESS_FLAGS
                | mask::PKEY_INDEX
                | mask::MIN_RNR_TIMER
                | path,
        ),
        (Sqd, Sqd) => (0, mask::PKEY_INDEX | mask::QKEY),
        (Reset | Init, Rtr | Rts | Sqd | Sqe)
        | (Rtr, Init | Rtr | Sqd | Sqe)
        | (Rts | Sqd | Sqe, Init | Rtr | Sqe)
        | (Sqe, Rts | Sqd)
        | (Err, Init | Rtr | Rts | Sqd | Sqe) => return None,
    };
    Some(Rule { required, optional })
}

/// Whether a change of state with these attributes is allowed.
pub fn is_allowed(current: QpState, next: QpState, kind: QpType, attrs: u32) -> bool {
    // The guess of the current state is needed only where the adapter changes it on its own.
    if attrs & mask::CUR_STATE != 0
        && !matches!(current, QpState::Rtr | QpState::Rts | QpState::Sqd | QpState::Sqe)
    {
        return false;
    }
    rule(current, next, kind).is_some_and(|rule| {
        attrs & rule.required == rule.required
            && attrs & !(rule.required | rule.optional | mask::STATE) == 0
    })
}

#[cfg(test)]
mod tests {
    use super::QpState::*;
    use super::*;

    /// Allowed changes, one row a current state, one column a next state, both in their order.
    /// `d` is allowed for datagrams only.
    const CHANGES: [&str; 7] = [
        "xx.....", // Reset
        "xxx...x", // Init
        "x..x..x", // Rtr
        "x..xx.x", // Rts
        "x..xx.x", // Sqd
        "x..d..x", // Sqe
        "x.....x", // Err
    ];

    #[test]
    fn changes_are_those_of_the_table() {
        for (current, row) in QpState::ALL.into_iter().zip(CHANGES) {
            for (next, cell) in QpState::ALL.into_iter().zip(row.chars()) {
                for kind in [QpType::Gsi, QpType::Rc, QpType::Ud] {
                    let expected = cell == 'x' || (cell == 'd' && kind != QpType::Rc);
                    let rule = rule(current, next, kind);
                    assert_eq!(rule.is_some(), expected, "{current:?} -> {next:?} {kind:?}");
                }
            }
        }
    }

    #[test]
    fn attributes_are_those_of_the_specification() {
        // (current, next, type, required, optional) as numbers of the interface.
        let table = [
            (Reset, Init, QpType::Rc, 0x38, 0),
            (Reset, Init, QpType::Ud, 0x70, 0),
            (Reset, Init, QpType::Gsi, 0x50, 0),
            (Init, Init, QpType::Rc, 0, 0x38),
            (Init, Rtr, QpType::Rc, 0x12_9180, 0x4018),
            (Init, Rtr, QpType::Ud, 0, 0x50),
            (Rtr, Rts, QpType::Rc, 0x1_2e00, 0x4_c00a),
            (Rtr, Rts, QpType::Gsi, 0x1_0000, 0x42),
            (Rts, Rts, QpType::Rc, 0, 0x4_c00a),
            (Rts, Sqd, QpType::Rc, 0, 0x4),
            (Sqd, Rts, QpType::Ud, 0, 0x42),
            (Sqd, Sqd, QpType::Rc, 0, 0x6_eeb8),
            (Sqe, Rts, QpType::Ud, 0, 0x42),
            (Rts, Err, QpType::Rc, 0, 0),
            (Err, Reset, QpType::Ud, 0, 0),
        ];
        for (current, next, kind, required, optional) in table {
            let expected = Some(Rule { required, optional });
            assert_eq!(rule(current, next, kind), expected, "{current:?} -> {next:?} {kind:?}");
        }
    }

    /// Every combination of states and types, with every mask that is one bit away from right.
    #[test]
    fn one_wrong_bit_is_refused() {
        for current in QpState::ALL {
            for next in QpState::ALL {
                for kind in [QpType::Gsi, QpType::Rc, QpType::Ud] {
                    let Some(rule) = rule(current, next, kind) else {
                        assert!(!is_allowed(current, next, kind, mask::STATE));
                        continue;
                    };
                    assert!(is_allowed(current, next, kind, rule.required | mask::STATE));
                    assert!(is_allowed(current, next, kind, rule.required));
                    for bit in (0..32).map(|bit| 1 << bit) {
                        let attrs = (rule.required | mask::STATE) ^ bit;
                        let allowed = (rule.optional | mask::STATE) & bit != 0;
                        assert_eq!(is_allowed(current, next, kind, attrs), allowed);
                    }
                }
            }
        }
    }

    #[test]
    fn guessed_state_is_refused_where_it_cannot_be_wrong() {
        for (current, next) in [(Reset, Init), (Init, Rtr), (Err, Reset), (Init, Err)] {
            let required = rule(current, next, QpType::Ud).unwrap().required;
            assert!(!is_allowed(current, next, QpType::Ud, required | mask::CUR_STATE));
        }
        assert!(is_allowed(Rts, Rts, QpType::Rc, mask::CUR_STATE));
    }

    #[test]
    fn numbers_are_those_of_the_interface() {
        for state in QpState::ALL {
            assert_eq!(QpState::from_wire(state as u32), Some(state));
        }
        assert_eq!(QpState::from_wire(7), None);
        assert_eq!(QpType::from_wire(2), Some(QpType::Rc));
        for absent in [0, 3, 5, 6, 8, 9, 10] {
            assert_eq!(QpType::from_wire(absent), None);
        }
    }
}
