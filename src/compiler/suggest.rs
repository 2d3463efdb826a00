//! "Did you mean": the known word nearest to a mistyped one.

/// The known words within a third of the word's length in edits, nearest first, ties by name, at most `limit`.
pub(super) fn nearest<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    limit: usize,
) -> Vec<&'k str> {
    let most = (word.chars().count() / 3).max(1);
    let word = word.to_ascii_lowercase();
    let mut ranked: Vec<_> = known
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= most)
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, candidate)| candidate).take(limit).collect()
}

/// `did you mean "…"?`, or what is known when nothing is near.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied(), 1).first() {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("one of: {}", known.join(", ")),
    }
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous = None;
    for (row, letter) in from.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in to.iter().enumerate() {
            let substituted = last[column] + usize::from(letter != other);
            let mut edits = substituted.min(last[column + 1] + 1).min(current[column] + 1);
            if column > 0 && previous == Some(other) && to[column - 1] == letter {
                edits = edits.min(before_last[column - 1] + 1);
            }
            current.push(edits);
        }
        before_last = std::mem::replace(&mut last, current);
        previous = Some(letter);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, edits) in
            [("", "", 0), ("abc", "", 3), ("book", "boko", 1), ("kitten", "sitting", 3), ("a", "b", 1)]
        {
            assert_eq!((distance(from, to), distance(to, from)), (edits, edits), "{from} {to}");
        }
    }

    #[test]
    fn the_nearest_comes_first_and_the_far_not_at_all() {
        let known = ["description", "descriptions", "method", "path"];
        assert_eq!(nearest("descripton", known, 3), ["description", "descriptions"]);
        assert!(nearest("zzzz", known, 3).is_empty());
        assert_eq!(did_you_mean("Path", &known), "did you mean \"path\"?");
        assert_eq!(did_you_mean("zzzz", &["a", "b"]), "one of: a, b");
    }
}
