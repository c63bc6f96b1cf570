// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The decision of modify_qp.
//!
//! [`decide`] is a pure function: it looks at a request and at the state of the queue pair, and says
//! whether the request may go to the device. It changes nothing; the caller does so when the device
//! has agreed.

#![forbid(unsafe_code)]

use kernel::{
    prelude::*,
    rdma::{
        modify_qp_is_ok,
        QpAttr,
        QpAttrMask,
        QpState,
        QpType, //
    }, //
};

/// Largest code of a receiver-not-ready timer; it has five bits in a packet.
const MAX_RNR_TIMER: u8 = 31;

/// What a request is checked against.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Number of ports; they count from one.
    pub(super) ports: u32,
    /// Length of the P_Key table.
    pub(super) pkeys: u16,
}

/// What is to be done about a request that is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing: a queue pair that stays in RESET has no attributes on the device.
    Nothing,
    /// Ask the device; the queue pair is in this state when it agreed.
    Ask(QpState),
}

/// Judges a request to modify a queue pair of the type `ty` that is in the state `state`.
///
/// The transition and the attributes that go with it are judged by the rules of the core, which are
/// those of the InfiniBand specification.
///
/// # Errors
///
/// - [`EOPNOTSUPP`] if `mask` has bits beyond the attributes of the specification, for example a
///   rate limit.
/// - [`EINVAL`] if the transition is not allowed, a mandatory attribute is missing, an attribute is
///   given that the transition does not take, or the port, the P_Key index or the
///   receiver-not-ready timer is out of range.
pub(super) fn decide(
    ty: QpType,
    state: QpState,
    attr: &QpAttr,
    mask: QpAttrMask,
    limits: &Limits,
) -> Result<Decision> {
    if !QpAttrMask::STANDARD_BITS.contains(mask) {
        return Err(EOPNOTSUPP);
    }

    let current = attr.cur_state.unwrap_or(state);
    let next = attr.state.unwrap_or(current);

    if !modify_qp_is_ok(current, next, ty, mask) {
        return Err(EINVAL);
    }

    let in_range = attr
        .port
        .is_none_or(|port| (1..=limits.ports).contains(&port))
        && attr
            .min_rnr_timer
            .is_none_or(|timer| timer <= MAX_RNR_TIMER)
        && attr.pkey_index.is_none_or(|index| index < limits.pkeys)
        && attr.alt.is_none_or(|alt| {
            (1..=limits.ports).contains(&alt.port) && alt.pkey_index < limits.pkeys
        });

    match (current, next) {
        _ if !in_range => Err(EINVAL),
        (QpState::Reset, QpState::Reset) => Ok(Decision::Nothing),
        // Naming the current state does not change it.
        _ => Ok(Decision::Ask(attr.state.unwrap_or(state))),
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_modify)]
mod tests {
    use super::*;
    use kernel::rdma::{
        AhAttr,
        AltPath, //
    };

    const LIMITS: Limits = Limits { ports: 1, pkeys: 2 };

    const STATES: [QpState; 7] = [
        QpState::Reset,
        QpState::Init,
        QpState::Rtr,
        QpState::Rts,
        QpState::Sqd,
        QpState::Sqe,
        QpState::Err,
    ];

    const TYPES: [QpType; 3] = [QpType::Rc, QpType::Ud, QpType::Gsi];

    /// Number of bits of a mask, the rate limit beyond the standard ones included.
    const BITS: u32 = 26;

    fn bit(index: u32) -> QpAttrMask {
        QpAttrMask::from_bits(1 << index)
    }

    /// Returns valid attributes for `mask`.
    fn attr(mask: QpAttrMask, current: QpState, next: QpState) -> QpAttr {
        QpAttr {
            state: mask.contains(QpAttrMask::STATE).then_some(next),
            cur_state: mask.contains(QpAttrMask::CUR_STATE).then_some(current),
            port: mask.contains(QpAttrMask::PORT).then_some(1),
            pkey_index: mask.contains(QpAttrMask::PKEY_INDEX).then_some(1),
            min_rnr_timer: mask.contains(QpAttrMask::MIN_RNR_TIMER).then_some(31),
            alt: mask.contains(QpAttrMask::ALT_PATH).then_some(AltPath {
                port: 1,
                ..AltPath::default()
            }),
            ..QpAttr::default()
        }
    }

    /// What the documentation says about valid attributes.
    fn expected(ty: QpType, current: QpState, next: QpState, mask: QpAttrMask) -> Result<Decision> {
        // Without a new state the queue pair stays where it is.
        let next = match mask.contains(QpAttrMask::STATE) {
            true => next,
            false => current,
        };

        if mask.bits() & !QpAttrMask::STANDARD_BITS.bits() != 0 {
            Err(EOPNOTSUPP)
        } else if !modify_qp_is_ok(current, next, ty, mask) {
            Err(EINVAL)
        } else if (current, next) == (QpState::Reset, QpState::Reset) {
            Ok(Decision::Nothing)
        } else {
            Ok(Decision::Ask(next))
        }
    }

    /// Compares the decision with the core for one mask and all states and types.
    fn compare(mask: QpAttrMask) -> u32 {
        let mut wrong = 0;

        for ty in TYPES {
            for current in STATES {
                for next in STATES {
                    let attr = attr(mask, current, next);

                    if decide(ty, current, &attr, mask, &LIMITS)
                        != expected(ty, current, next, mask)
                    {
                        wrong += 1;
                    }
                }
            }
        }
        wrong
    }

    /// Every combination of states and type, with every mask of up to three bits and every mask
    /// that lacks up to three of the standard ones.
    ///
    /// The rules look at each bit alone: it is required, allowed or forbidden. So masks of more bits
    /// would tell nothing new, and 2^26 of them take too long.
    #[test]
    fn agrees_with_the_core() {
        let mut wrong = 0;

        for a in 0..BITS {
            for b in a..BITS {
                for c in b..BITS {
                    let few = bit(a) | bit(b) | bit(c);

                    wrong += compare(few);
                    wrong += compare(QpAttrMask::STANDARD_BITS.without(few));
                }
            }
        }
        wrong += compare(QpAttrMask::NONE);
        wrong += compare(QpAttrMask::STANDARD_BITS);
        assert_eq!(wrong, 0);
    }

    /// The way up of a reliable connection, with literal masks from the specification.
    #[test]
    fn connects() {
        let init = QpAttrMask::STATE
            | QpAttrMask::PKEY_INDEX
            | QpAttrMask::PORT
            | QpAttrMask::ACCESS_FLAGS;
        let rtr = QpAttrMask::STATE
            | QpAttrMask::AV
            | QpAttrMask::PATH_MTU
            | QpAttrMask::DEST_QPN
            | QpAttrMask::RQ_PSN
            | QpAttrMask::MAX_DEST_RD_ATOMIC
            | QpAttrMask::MIN_RNR_TIMER;
        let rts = QpAttrMask::STATE
            | QpAttrMask::TIMEOUT
            | QpAttrMask::RETRY_CNT
            | QpAttrMask::RNR_RETRY
            | QpAttrMask::SQ_PSN
            | QpAttrMask::MAX_QP_RD_ATOMIC;

        for (current, next, mask) in [
            (QpState::Reset, QpState::Init, init),
            (QpState::Init, QpState::Rtr, rtr),
            (QpState::Rtr, QpState::Rts, rts),
            (QpState::Rts, QpState::Err, QpAttrMask::STATE),
            (QpState::Err, QpState::Reset, QpAttrMask::STATE),
        ] {
            let request = |mask| {
                decide(
                    QpType::Rc,
                    current,
                    &attr(mask, current, next),
                    mask,
                    &LIMITS,
                )
            };

            assert_eq!(request(mask), Ok(Decision::Ask(next)));

            // Each attribute but the state is mandatory.
            for index in 1..BITS {
                if mask.contains(bit(index)) {
                    assert_eq!(request(mask.without(bit(index))), Err(EINVAL));
                }
            }
        }
    }

    #[test]
    fn stays_in_reset_without_a_command() {
        let mask = QpAttrMask::STATE;

        assert_eq!(
            decide(
                QpType::Rc,
                QpState::Reset,
                &attr(mask, QpState::Reset, QpState::Reset),
                mask,
                &LIMITS
            ),
            Ok(Decision::Nothing)
        );
    }

    #[test]
    fn refuses_what_is_out_of_range() {
        let to_init = QpAttrMask::STATE
            | QpAttrMask::PKEY_INDEX
            | QpAttrMask::PORT
            | QpAttrMask::ACCESS_FLAGS;
        let init = |change: fn(&mut QpAttr)| {
            let mut attr = attr(to_init, QpState::Reset, QpState::Init);
            change(&mut attr);
            decide(QpType::Rc, QpState::Reset, &attr, to_init, &LIMITS)
        };

        assert_eq!(init(|_| ()), Ok(Decision::Ask(QpState::Init)));
        assert_eq!(init(|attr| attr.port = Some(0)), Err(EINVAL));
        assert_eq!(init(|attr| attr.port = Some(2)), Err(EINVAL));
        assert_eq!(init(|attr| attr.pkey_index = Some(2)), Err(EINVAL));

        let in_rts = QpAttrMask::MIN_RNR_TIMER | QpAttrMask::ALT_PATH;
        let rts = |change: fn(&mut QpAttr)| {
            let mut attr = attr(in_rts, QpState::Rts, QpState::Rts);
            change(&mut attr);
            decide(QpType::Rc, QpState::Rts, &attr, in_rts, &LIMITS)
        };
        let alt = |port, pkey_index| {
            Some(AltPath {
                ah: AhAttr::default(),
                port,
                pkey_index,
                timeout: 0,
            })
        };

        assert_eq!(rts(|_| ()), Ok(Decision::Ask(QpState::Rts)));
        assert_eq!(rts(|attr| attr.min_rnr_timer = Some(32)), Err(EINVAL));
        for (port, pkey_index) in [(0, 0), (2, 0), (1, 2)] {
            let mut attr = attr(in_rts, QpState::Rts, QpState::Rts);
            attr.alt = alt(port, pkey_index);
            assert_eq!(
                decide(QpType::Rc, QpState::Rts, &attr, in_rts, &LIMITS),
                Err(EINVAL)
            );
        }
    }

    #[test]
    fn judges_for_the_state_that_the_caller_names() {
        let mask = QpAttrMask::STATE | QpAttrMask::CUR_STATE;
        let attr = attr(mask, QpState::Sqe, QpState::Rts);

        // The device has moved the queue pair to SQE, which the driver has not seen.
        assert_eq!(
            decide(QpType::Ud, QpState::Rts, &attr, mask, &LIMITS),
            Ok(Decision::Ask(QpState::Rts))
        );
    }

    #[test]
    fn naming_the_state_does_not_change_it() {
        let mask = QpAttrMask::CUR_STATE | QpAttrMask::QKEY;
        let attr = attr(mask, QpState::Rts, QpState::Rts);

        // The driver knows better, for example from an earlier query.
        assert_eq!(
            decide(QpType::Ud, QpState::Sqd, &attr, mask, &LIMITS),
            Ok(Decision::Ask(QpState::Sqd))
        );
    }
}
