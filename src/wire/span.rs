//! Places in a buffer.

/// A half-open range of a request's bytes, counted from the request's first byte. Offsets rather than slices, so that
/// a half-read head survives its buffer being moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// Nothing, nowhere.
    pub const EMPTY: Span = Span { start: 0, end: 0 };

    /// A span of offsets that the caller has bounded (heads are shorter than 4 GiB by [`super::parse`]'s clamp).
    pub(super) const fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// Its bytes; none if the buffer does not reach that far.
    #[inline]
    pub fn of(self, buf: &[u8]) -> &[u8] {
        buf.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether it holds no byte.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}
