// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing fields of a record by their names.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

/// Names of fields and their new values; records inside of records are objects in it.
pub type Patch = Map<String, Value>;

/// A patch that does not fit the record.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The record has no such field.
    #[error("there is no field '{0}'")]
    NoField(String),
    /// A value cannot be one of its field.
    #[error(transparent)]
    Value(#[from] serde_json::Error),
}

/// A copy of `record` with the fields in `patch` changed.
pub fn patched<T: Serialize + DeserializeOwned>(
    record: &T,
    patch: &Patch,
) -> Result<T, PatchError> {
    let mut value = serde_json::to_value(record)?;
    apply(&mut value, patch)?;
    Ok(serde_json::from_value(value)?)
}

fn apply(value: &mut Value, patch: &Patch) -> Result<(), PatchError> {
    for (name, new) in patch {
        let field = value.get_mut(name).ok_or_else(|| PatchError::NoField(name.clone()))?;
        match new {
            Value::Object(inner) => apply(field, inner)?,
            _ => *field = new.clone(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::commands::{CreateMrResp, QueryQpResp};
    use serde_json::json;

    fn patch(value: Value) -> Patch {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn fields_are_changed_by_name() {
        let mr = CreateMrResp { mr_handle: 1, lkey: 2, rkey: 3, ..Default::default() };
        let changed = patched(&mr, &patch(json!({"mr_handle": u32::MAX}))).unwrap();
        assert_eq!(changed, CreateMrResp { mr_handle: u32::MAX, ..mr });
        let qp = patched(
            &QueryQpResp::default(),
            &patch(json!({"attrs": {"qp_state": 200, "ah_attr": {"dmac": "00:50:56:00:00:01"}}})),
        )
        .unwrap();
        assert_eq!(qp.attrs.qp_state, 200);
        assert_eq!(qp.attrs.ah_attr.dmac.0, [0, 0x50, 0x56, 0, 0, 1]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mr = CreateMrResp::default();
        for bad in [json!({"handle": 1}), json!({"lkey": -1}), json!({"lkey": {"a": 1}})] {
            assert!(patched(&mr, &patch(bad.clone())).is_err(), "{bad}");
        }
    }
}
