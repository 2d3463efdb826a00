//! The header fields this server knows (facts page 2).

use super::Span;

macro_rules! fields {
    ($($name:ident = $text:literal;)+) => {
        /// A request header with a meaning of its own. Others are kept for handlers ([`super::Head::headers`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Field {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl Field {
            /// All of them, in the order of their values.
            pub const ALL: &'static [Field] = &[$(Field::$name,)+];

            /// The name as it is usually written.
            pub const fn name(self) -> &'static str {
                match self { $(Field::$name => $text,)+ }
            }
        }
    };
}

fields! {
    AgentId = "Agent-ID";
    TargetAgent = "Target-Agent";
    AuthorityScope = "Authority-Scope";
    SessionId = "Session-ID";
    TaskId = "Task-ID";
    RequestId = "Request-ID";
    IdempotencyKey = "Idempotency-Key";
    DelegationChain = "Delegation-Chain";
    AllowRcns = "Allow-RCNS";
    ContractSynthesized = "Contract-Synthesized";
    Authorization = "Authorization";
    ContentType = "Content-Type";
    ContentLength = "Content-Length";
    TransferEncoding = "Transfer-Encoding";
    Accept = "Accept";
}

impl Field {
    /// The field of that name, whatever its case (D21). Length and first letter leave one candidate, which is then
    /// compared.
    #[inline]
    pub fn from_name(name: &[u8]) -> Option<Field> {
        let (candidate, is_it) = match (name.len(), name.first()? | 0x20) {
            (6, b'a') => (Field::Accept, same(name, b"Accept")),
            (7, b't') => (Field::TaskId, same(name, b"Task-ID")),
            (8, b'a') => (Field::AgentId, same(name, b"Agent-ID")),
            (10, b's') => (Field::SessionId, same(name, b"Session-ID")),
            (10, b'r') => (Field::RequestId, same(name, b"Request-ID")),
            (10, b'a') => (Field::AllowRcns, same(name, b"Allow-RCNS")),
            (12, b'c') => (Field::ContentType, same(name, b"Content-Type")),
            (12, b't') => (Field::TargetAgent, same(name, b"Target-Agent")),
            (13, b'a') => (Field::Authorization, same(name, b"Authorization")),
            (14, b'c') => (Field::ContentLength, same(name, b"Content-Length")),
            (15, b'a') => (Field::AuthorityScope, same(name, b"Authority-Scope")),
            (15, b'i') => (Field::IdempotencyKey, same(name, b"Idempotency-Key")),
            (16, b'd') => (Field::DelegationChain, same(name, b"Delegation-Chain")),
            (17, b't') => (Field::TransferEncoding, same(name, b"Transfer-Encoding")),
            (20, b'c') => (Field::ContractSynthesized, same(name, b"Contract-Synthesized")),
            _ => return None,
        };
        is_it.then_some(candidate)
    }
}

/// Whether a name is `usual` in any case. The usual spelling is compared first: a constant length makes that a few loads.
#[inline]
fn same<const N: usize>(name: &[u8], usual: &[u8; N]) -> bool {
    name.first_chunk() == Some(usual) || same_in_any_case(name, usual)
}

/// Apart, so that fifteen copies of it do not crowd the parser's loop.
#[inline(never)]
fn same_in_any_case(name: &[u8], usual: &[u8]) -> bool {
    name.eq_ignore_ascii_case(usual)
}

/// The values of the known fields of one head.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Bit per field. The spans of fields that are not present are left over from an earlier head.
    present: u32,
    spans: [Span; Field::ALL.len()],
}

const _: () = assert!(Field::ALL.len() <= u32::BITS as usize, "a bit per field");

impl Fields {
    pub(super) const fn new() -> Fields {
        Fields { present: 0, spans: [Span::EMPTY; Field::ALL.len()] }
    }

    pub(super) fn clear(&mut self) {
        self.present = 0;
    }

    #[inline]
    pub(super) fn set(&mut self, field: Field, value: Span) {
        self.present |= 1 << field as u32;
        self.spans[field as usize] = value;
    }

    /// Whether the head has that field, be its value empty.
    #[inline]
    pub const fn has(&self, field: Field) -> bool {
        self.present & (1 << field as u32) != 0
    }

    /// Where its value is, without the white space around it.
    #[inline]
    pub const fn span(&self, field: Field) -> Option<Span> {
        if self.has(field) { Some(self.spans[field as usize]) } else { None }
    }

    /// Its value in `buf`, the buffer that begins with the request: printable ASCII, space and tab.
    #[inline]
    pub fn value<'b>(&self, field: Field, buf: &'b [u8]) -> Option<&'b [u8]> {
        self.span(field).map(|span| span.of(buf))
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        Field::ALL.iter().all(|&field| self.span(field) == other.span(field))
    }
}

impl Eq for Fields {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_in_any_case_and_nothing_near_it_is() {
        for (value, &field) in Field::ALL.iter().enumerate() {
            assert_eq!(field as usize, value);
            let name = field.name();
            for spelling in [name.to_owned(), name.to_lowercase(), name.to_uppercase()] {
                assert_eq!(Field::from_name(spelling.as_bytes()), Some(field));
            }
            for place in 0..name.len() {
                for byte in 0..=255u8 {
                    let mut near = name.as_bytes().to_vec();
                    near[place] = byte;
                    let same = near.eq_ignore_ascii_case(name.as_bytes());
                    assert_eq!(Field::from_name(&near), same.then_some(field));
                }
            }
        }
        assert_eq!(Field::from_name(b""), None);
    }

    #[test]
    fn cleared_fields_are_gone() {
        let mut fields = Fields::new();
        fields.set(Field::Accept, Span::new(3, 5));
        assert_eq!(fields.value(Field::Accept, b"abcdef"), Some(&b"de"[..]));
        fields.clear();
        assert_eq!(fields.span(Field::Accept), None);
    }
}
