//! Words of a text in the form that discovery compares them in: shared by the compiler, which indexes what is declared,
//! and the engine, which reads what is asked.
//!
//! A word is a run of letters and digits, in lower case, its usual English endings taken off. Stems need not be words:
//! what matters is that both sides go the same way.

/// Longest word that is told apart, bytes; of a longer one the beginning counts.
pub const LONGEST_WORD: usize = 32;

/// Words that say nothing of what somebody looks for. Sorted.
const STOP_WORDS: [&str; 59] = [
    "all", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "had", "has", "have", "how", "if", "in", "into", "is", "it", "its", "me", "my", "need", "not", "of",
    "on", "or", "our", "please", "some", "that", "the", "their", "them", "then", "there", "these", "this",
    "those", "to", "under", "want", "was", "we", "what", "when", "where", "which", "who", "will", "with",
    "would", "you", "your",
];

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word {
    /// UTF-8, zeros behind it. No word holds a zero, so the order of the arrays is that of the words.
    bytes: [u8; LONGEST_WORD],
    len: u8,
}

/// The words of a text, in order, repeats included.
pub fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter_map(Word::of)
}

impl Word {
    /// No word.
    pub(crate) const NONE: Word = Word { bytes: [0; LONGEST_WORD], len: 0 };

    /// A run of letters and digits as a word; nothing if it is too short or too common to tell anything.
    fn of(run: &str) -> Option<Word> {
        let mut word = Word::NONE;
        for letter in run.chars().flat_map(char::to_lowercase) {
            if !word.push(letter) {
                break;
            }
        }
        if word.len < 2 || STOP_WORDS.binary_search(&word.as_str()).is_ok() {
            return None;
        }
        word.stem();
        Some(word)
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.len))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }

    /// Whether there was room for the letter.
    fn push(&mut self, letter: char) -> bool {
        let len = usize::from(self.len);
        let Some(room) = self.bytes.get_mut(len..len + letter.len_utf8()) else { return false };
        letter.encode_utf8(room);
        self.len += letter.len_utf8() as u8;
        true
    }

    fn cut(&mut self, ending: usize) {
        let len = usize::from(self.len) - ending;
        self.bytes[len..].fill(0);
        self.len = len as u8;
    }

    /// Plurals, participles and `-ation`, then what these leave behind: a doubled consonant, a final e.
    fn stem(&mut self) {
        if !self.as_str().is_ascii() {
            return;
        }
        if self.ends("ies", 2) {
            self.cut(3);
            self.push('y');
        } else if self.ends("s", 3)
            && !["ss", "us", "is"].iter().any(|ending| self.as_str().ends_with(ending))
        {
            self.cut(1);
        }
        for (ending, least) in [("ation", 4), ("ing", 3), ("ed", 3)] {
            if self.ends(ending, least) && self.has_vowel_before(ending.len()) {
                self.cut(ending.len());
                break;
            }
        }
        if let [.., a, b] = self.as_str().as_bytes()
            && self.len > 3
            && a == b
            && b.is_ascii_lowercase()
            && !is_vowel(*b)
        {
            self.cut(1);
        }
        if self.ends("e", 3) {
            self.cut(1);
        }
    }

    /// Whether it has the ending and at least so many bytes before it.
    fn ends(&self, ending: &str, least: usize) -> bool {
        self.as_str().strip_suffix(ending).is_some_and(|rest| rest.len() >= least)
    }

    fn has_vowel_before(&self, ending: usize) -> bool {
        self.as_str().bytes().take(usize::from(self.len) - ending).any(is_vowel)
    }
}

fn is_vowel(letter: u8) -> bool {
    b"aeiouy".contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        words(text).map(|word| word.as_str().to_owned()).collect()
    }

    #[test]
    fn a_word_meets_its_usual_forms() {
        for forms in [
            &["book", "Books", "BOOKED", "booking"][..],
            &["reserve", "reserves", "reserved", "reserving", "reservation", "reservations"],
            &["cancel", "cancelled", "cancelling", "cancels", "cancellation"],
            &["activity", "activities"],
            &["house", "houses"],
            &["add", "adding", "added"],
        ] {
            let stems: Vec<_> = forms.iter().flat_map(|form| shown(form)).collect();
            assert_eq!(stems.len(), forms.len());
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?}: {stems:?}");
        }
        assert_ne!(shown("string"), shown("str"));
    }

    #[test]
    fn texts_part_where_letters_and_digits_end_and_common_words_say_nothing() {
        assert_eq!(shown("/rooms/{room_id}?x=1"), ["room", "room", "id"]);
        assert_eq!(shown("I want to book the room, please!"), ["book", "room"]);
        assert_eq!(shown(" \u{e9}T\u{c9} \u{65e5}\u{672c} "), ["\u{e9}t\u{e9}", "\u{65e5}\u{672c}"]);
        assert!(shown("").is_empty() && shown("- . \u{0}").is_empty());
    }

    #[test]
    fn of_a_long_word_the_beginning_counts_and_no_letter_is_split() {
        let long = "q".repeat(1 << 20);
        assert_eq!(shown(&long), shown(&long[..LONGEST_WORD]));
        assert!(shown(&"\u{65e5}".repeat(100))[0].len() <= LONGEST_WORD);
        assert!(words(&"\u{65e5}".repeat(100)).all(|word| !word.as_str().is_empty()));
    }

    #[test]
    fn stop_words_are_sorted_and_words_order_as_their_texts() {
        assert!(STOP_WORDS.is_sorted());
        let mut all: Vec<Word> = words("zeta alpha alphabet al b1 \u{e9}t\u{e9} alp 12").collect();
        all.sort_unstable();
        assert!(all.iter().map(|word| word.as_str().to_owned()).is_sorted());
    }
}
