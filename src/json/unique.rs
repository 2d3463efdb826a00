//! Equality as JSON Schema defines it, and `uniqueItems` on top of it.

use super::{Array, Kind, Number, Object, Value};
use serde_json::Value as Expected;
use std::cell::Cell;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// Arrays and objects up to this length are compared pairwise.
const FEW: usize = 16;

/// Whether two values are equal: numbers by value, objects whatever the order of their members.
pub(super) fn equal(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Number, Kind::Number) => a.as_number() == b.as_number(),
        (Kind::Array, Kind::Array) => equal_arrays(a.as_array(), b.as_array()),
        (Kind::Object, Kind::Object) => equal_objects(a.as_object(), b.as_object()),
        (Kind::Null, Kind::Null) => true,
        (Kind::Bool, Kind::Bool) => a.as_bool() == b.as_bool(),
        (Kind::String, Kind::String) => a.as_str() == b.as_str(),
        _ => false,
    }
}

fn equal_arrays(a: Option<Array<'_>>, b: Option<Array<'_>>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    a.len() == b.len() && a.elements().zip(b.elements()).all(|(a, b)| equal(a, b))
}

/// Members in the same order, as clients that repeat themselves write them, are compared as they come.
fn equal_objects(a: Option<Object<'_>>, b: Option<Object<'_>>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let in_order = |(a, b): (Member<'_>, Member<'_>)| a.0 == b.0 && equal(a.1, b.1);
    a.len() == b.len() && (a.members().zip(b.members()).all(in_order) || equal_in_any_order(a, b))
}

type Member<'a> = (&'a str, Value<'a>);

/// Keys are distinct within an object, so as many members, each found in the other, is equality. Large objects are
/// sorted first, so that two of them cannot cost a comparison for every pair of their keys.
fn equal_in_any_order(a: Object<'_>, b: Object<'_>) -> bool {
    if a.len() <= FEW {
        return a.members().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)));
    }
    let (a, b) = (sorted(a), sorted(b));
    a.iter().zip(&b).all(|(a, b)| a.0 == b.0) && a.iter().zip(&b).all(|(a, b)| equal(a.1, b.1))
}

fn sorted(object: Object<'_>) -> Vec<Member<'_>> {
    let mut members: Vec<_> = object.members().collect();
    members.sort_unstable_by_key(|member| member.0);
    members
}

/// Whether a value equals one of a schema's `enum` or `const`.
pub(super) fn equals(value: Value<'_>, expected: &Expected) -> bool {
    match expected {
        Expected::Null => value.is_null(),
        Expected::Bool(expected) => value.as_bool() == Some(*expected),
        Expected::String(expected) => value.as_str() == Some(expected),
        Expected::Number(expected) => {
            value.as_number().is_some_and(|number| Some(number) == number_of(expected))
        }
        Expected::Array(expected) => value.as_array().is_some_and(|array| {
            array.len() == expected.len()
                && array.elements().zip(expected).all(|(value, expected)| equals(value, expected))
        }),
        Expected::Object(expected) => value.as_object().is_some_and(|object| {
            object.len() == expected.len()
                && object
                    .members()
                    .all(|(key, value)| expected.get(key).is_some_and(|expected| equals(value, expected)))
        }),
    }
}

/// A schema's number as ours.
fn number_of(number: &serde_json::Number) -> Option<Number> {
    let unsigned = number.as_u64().map(Number::U64);
    unsigned.or_else(|| number.as_i64().map(Number::I64)).or_else(|| number.as_f64().map(Number::F64))
}

/// `uniqueItems`. Short arrays are compared pairwise; the elements of long ones are hashed, with a key that no sender
/// can know, and only elements with equal hashes are compared.
pub(super) fn is_unique(array: Array<'_>) -> bool {
    if array.len() <= FEW {
        let mut rest = array.elements();
        while let Some(element) = rest.next() {
            if rest.clone().any(|other| equal(element, other)) {
                return false;
            }
        }
        return true;
    }
    is_unique_by_hash(array)
}

fn is_unique_by_hash(array: Array<'_>) -> bool {
    thread_local! {
        // Hashes and places of the elements: kept, so that only growing allocates.
        static HASHES: Cell<Vec<(u64, usize)>> = const { Cell::new(Vec::new()) };
        static KEY: RandomState = RandomState::new();
    }
    let mut hashes = HASHES.take();
    hashes.clear();
    KEY.with(|key| {
        hashes.extend(array.places().map(|(place, element)| (hash(element, key), place)));
    });
    hashes.sort_unstable();
    let twins = |a: usize, b: usize| array.at(a).zip(array.at(b)).is_some_and(|(a, b)| equal(a, b));
    let unique = hashes.chunk_by(|a, b| a.0 == b.0).all(|alike| {
        let later = |index| alike.iter().skip(index + 1);
        alike.iter().enumerate().all(|(index, a)| later(index).all(|b| !twins(a.1, b.1)))
    });
    HASHES.set(hashes);
    unique
}

/// A hash that equal values share.
fn hash(value: Value<'_>, key: &RandomState) -> u64 {
    let mut hasher = key.build_hasher();
    (value.kind() as u8).hash(&mut hasher);
    match value.kind() {
        Kind::Null => {}
        Kind::Bool => value.as_bool().hash(&mut hasher),
        Kind::Number => value.as_number().map(Number::fingerprint).hash(&mut hasher),
        Kind::String => value.as_str().hash(&mut hasher),
        Kind::Array => value.elements().for_each(|element| hash(element, key).hash(&mut hasher)),
        // A sum, because the order of the members does not matter.
        Kind::Object => {
            let members = value.members().map(|member| key.hash_one((member.0, hash(member.1, key))));
            members.fold(0_u64, u64::wrapping_add).hash(&mut hasher);
        }
    }
    hasher.finish()
}
