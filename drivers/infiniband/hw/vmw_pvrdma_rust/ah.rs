// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Address handles of kernel consumers. The device knows nothing of them; the address travels in
//! each work request.

#![forbid(unsafe_code)]

use crate::{
    device::Pvrdma,
    quota::Share,
    wire, //
};
use kernel::{
    prelude::*,
    rdma::{
        self,
        AddressHandle,
        AhAttr,
        Ctx, //
    }, //
};

/// Bits of a flow label.
const FLOW_LABEL_MASK: u32 = 0xf_ffff;

/// Position of the traffic class next to the flow label.
const TRAFFIC_CLASS_SHIFT: u32 = 20;

/// Position of the port next to the handle of the protection domain, and bits of that handle.
const PORT_SHIFT: u32 = 24;
const PD_MASK: u32 = (1 << PORT_SHIFT) - 1;

/// Set in the path bits of every address, as the user-space library does.
const SRC_PATH_VALID: u8 = 0x80;

/// An address handle.
pub(crate) struct Ah {
    av: wire::Av,
    _share: Share,
}

impl Ah {
    fn new(ctx: &Ctx<'_, Pvrdma>, pd: &rdma::Pd<Pvrdma>, attr: &AhAttr) -> Result<Self> {
        Ok(Self {
            av: av(pd.handle().raw(), attr)?,
            _share: ctx.quotas.ah.take()?,
        })
    }

    /// Returns the address as it goes into a work request.
    pub(crate) fn av(&self) -> wire::Av {
        self.av
    }
}

/// Makes the address vector of `attr` for a protection domain that the device calls `pd`.
///
/// # Errors
///
/// [`EINVAL`] if it has no global route, is a multicast address, or if the port or the protection
/// domain does not fit.
fn av(pd: u32, attr: &AhAttr) -> Result<wire::Av> {
    let grh = attr
        .grh
        .filter(|grh| !grh.dgid.is_multicast())
        .ok_or(EINVAL)?;
    let port = u8::try_from(attr.port)?;

    if pd & !PD_MASK != 0 {
        return Err(EINVAL);
    }
    Ok(wire::Av {
        port_pd: u32::from(port) << PORT_SHIFT | pd,
        sl_tclass_flowlabel: u32::from(grh.traffic_class) << TRAFFIC_CLASS_SHIFT
            | grh.flow_label & FLOW_LABEL_MASK,
        dgid: grh.dgid.0,
        src_path_bits: SRC_PATH_VALID,
        gid_index: grh.sgid_index,
        stat_rate: 0,
        hop_limit: grh.hop_limit,
        dmac: attr.dmac,
        reserved: [0; 6],
    })
}

#[vtable]
impl AddressHandle for Ah {
    type Driver = Pvrdma;

    fn create(
        ctx: &Ctx<'_, Pvrdma>,
        pd: &rdma::Pd<Pvrdma>,
        attr: &AhAttr,
        _may_sleep: bool,
    ) -> impl PinInit<Self, Error> {
        Self::new(ctx, pd, attr)
    }

    fn destroy(_ctx: &Ctx<'_, Pvrdma>, _this: &rdma::Ah<Pvrdma>, _may_sleep: bool) {}
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_ah)]
mod tests {
    use super::*;
    use kernel::rdma::{
        Gid,
        GlobalRoute, //
    };

    fn attr(dgid: u8) -> AhAttr {
        AhAttr {
            grh: Some(GlobalRoute {
                dgid: Gid([dgid; 16]),
                flow_label: 0x0fff_ffff,
                sgid_index: 3,
                hop_limit: 64,
                traffic_class: 0xff,
            }),
            port: 1,
            sl: 7,
            static_rate: 0,
            dmac: [1, 2, 3, 4, 5, 6],
        }
    }

    #[test]
    fn packs_the_fields() -> Result {
        let av = av(0x1234, &attr(0x20))?;

        assert_eq!(av.port_pd, 0x0100_1234);
        // The flow label is cut to its 20 bits and does not spill into the traffic class.
        assert_eq!(av.sl_tclass_flowlabel, 0x0fff_ffff);
        assert_eq!(av.gid_index, 3);
        assert_eq!(av.hop_limit, 64);
        assert_eq!(av.src_path_bits, 0x80);
        assert_eq!(av.dmac, [1, 2, 3, 4, 5, 6]);
        Ok(())
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert!(av(0x0100_0000, &attr(0x20)).is_err());
        assert!(av(1, &attr(0xff)).is_err());
        assert!(av(
            1,
            &AhAttr {
                port: 256,
                ..attr(0x20)
            }
        )
        .is_err());
        assert!(av(
            1,
            &AhAttr {
                grh: None,
                ..attr(0x20)
            }
        )
        .is_err());
    }
}
