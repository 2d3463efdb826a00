//! What lies between two catalogs, and whether the version tells so (draft: Catalog Evolution).

use super::{Catalog, Verb, semver};

/// The differences between two catalogs. Lists are sorted by name.
#[derive(Clone, Debug)]
pub struct CatalogDiff<'c> {
    /// The catalog in use.
    pub old: &'c Catalog,
    /// The candidate.
    pub new: &'c Catalog,
    /// Verbs that only the candidate has.
    pub added: Vec<&'c Verb>,
    /// Verbs that only the catalog in use has, as they stand there.
    pub removed: Vec<&'c Verb>,
    /// Verbs that the candidate deprecates and the catalog in use does not, as the candidate has them.
    pub newly_deprecated: Vec<&'c Verb>,
    /// What else changed of verbs and legacy verbs that both have.
    pub changed: Vec<Change<'c>>,
}

/// What changed of one verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'c> {
    /// Its name.
    pub name: &'c str,
    /// What is different, at least one.
    pub aspects: Vec<Aspect>,
}

/// Something that can change of a verb that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// How it is described.
    Description,
    /// The categories it belongs to, or their order.
    Categories,
    /// When it is removed, what succeeds it, or that it is no longer deprecated.
    Deprecation,
    /// The verb to use instead of a legacy verb.
    Preferred,
}

impl Aspect {
    /// In a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Aspect::Description => "description",
            Aspect::Categories => "categories",
            Aspect::Deprecation => "deprecation",
            Aspect::Preferred => "preferred verb",
        }
    }
}

/// How far a version moved, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Back,
    None,
    Patch,
    Minor,
    Major,
}

impl<'c> CatalogDiff<'c> {
    /// Compares two catalogs.
    pub fn between(old: &'c Catalog, new: &'c Catalog) -> CatalogDiff<'c> {
        let only_in = |one: &'c Catalog, other: &Catalog| {
            one.verbs.iter().filter(|verb| other.verb(&verb.name).is_none()).collect()
        };
        let kept = || old.verbs.iter().filter_map(|verb| Some((verb, new.verb(&verb.name)?)));
        let newly_deprecated = |(before, after): &(&Verb, &Verb)| {
            before.deprecated_in.is_none() && after.deprecated_in.is_some()
        };
        CatalogDiff {
            old,
            new,
            added: only_in(new, old),
            removed: only_in(old, new),
            newly_deprecated: kept().filter(newly_deprecated).map(|(_, after)| after).collect(),
            changed: changed(kept().filter_map(|(before, after)| verb_change(before, after)), old, new),
        }
    }

    /// Whether nothing but possibly the version differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.newly_deprecated.is_empty()
            && self.changed.is_empty()
    }

    /// What is at odds with the versioning scheme, one sentence each: a removal needs a MAJOR step and a deprecation
    /// before it, an addition or a deprecation a MINOR one (draft: Versioning Scheme).
    pub fn notes(&self) -> Vec<String> {
        let (old, new) = (&self.old.version, &self.new.version);
        let step = self.step();
        if step == Step::Back {
            return vec![format!("the version goes back, from {old} to {new}")];
        }
        let mut notes = Vec::new();
        let mut needs = |verbs: &[&Verb], least: Step, level: &str, what: &str| {
            if !verbs.is_empty() && step < least {
                let names = names(verbs);
                notes.push(format!("{what} {names} needs a {level} step; {old} to {new} is less than that"));
            }
        };
        needs(&self.removed, Step::Major, "MAJOR", "removing");
        needs(&self.added, Step::Minor, "MINOR", "adding");
        needs(&self.newly_deprecated, Step::Minor, "MINOR", "deprecating");
        if step == Step::None && notes.is_empty() && !self.is_empty() {
            notes.push(format!("the catalogs differ, but both say they are {old}"));
        }
        notes.extend(self.removed.iter().filter_map(|verb| self.unannounced(verb)));
        notes
    }

    /// What is wrong with a removal, the version aside: verbs do not disappear without warning.
    fn unannounced(&self, verb: &Verb) -> Option<String> {
        let (name, new) = (&verb.name, &self.new.version);
        if verb.deprecated_in.is_none() {
            return Some(format!("{name} is removed without having been deprecated"));
        }
        let announced = verb.removed_in.as_deref()?;
        let early = semver(new)? < semver(announced)?;
        early.then(|| format!("{name} is removed in {new}, before {announced}, which was announced"))
    }

    fn step(&self) -> Step {
        // Only a catalog with faults has a version that is none, and for one a diff is not the thing to ask for.
        let numbers = |catalog: &Catalog| semver(&catalog.version).unwrap_or_default();
        let (old, new) = (numbers(self.old), numbers(self.new));
        match () {
            () if new < old => Step::Back,
            () if new[0] > old[0] => Step::Major,
            () if new[1] > old[1] => Step::Minor,
            () if new[2] > old[2] => Step::Patch,
            () => Step::None,
        }
    }
}

/// The changes of verbs and those of legacy verbs, by name.
fn changed<'c>(verbs: impl Iterator<Item = Change<'c>>, old: &'c Catalog, new: &Catalog) -> Vec<Change<'c>> {
    let legacy = old.legacy.iter().filter_map(|before| {
        let after = new.legacy_verb(&before.name)?;
        let pairs = [
            (Aspect::Preferred, before.preferred != after.preferred),
            (Aspect::Description, before.description != after.description),
        ];
        change(&before.name, &pairs)
    });
    let mut changed: Vec<_> = verbs.chain(legacy).collect();
    changed.sort_by_key(|change| change.name);
    changed
}

fn verb_change<'c>(before: &'c Verb, after: &Verb) -> Option<Change<'c>> {
    let deprecation =
        |verb: &Verb| (verb.deprecated_in.clone(), verb.removed_in.clone(), verb.successor.clone());
    // A new deprecation is told by itself.
    let new = before.deprecated_in.is_none() && after.deprecated_in.is_some();
    let pairs = [
        (Aspect::Description, before.description != after.description),
        (Aspect::Categories, before.categories != after.categories),
        (Aspect::Deprecation, !new && deprecation(before) != deprecation(after)),
    ];
    change(&before.name, &pairs)
}

fn change<'c>(name: &'c str, pairs: &[(Aspect, bool)]) -> Option<Change<'c>> {
    let aspects: Vec<_> = pairs.iter().filter(|(_, differs)| *differs).map(|(aspect, _)| *aspect).collect();
    (!aspects.is_empty()).then_some(Change { name, aspects })
}

/// The first few names, and how many there are beyond them.
fn names(verbs: &[&Verb]) -> String {
    let shown: Vec<_> = verbs.iter().take(3).map(|verb| verb.name.as_str()).collect();
    match verbs.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The canonical catalog under another version, with something done to it.
    fn edited(version: &str, edit: impl FnOnce(&mut Catalog)) -> Catalog {
        let mut catalog = Catalog { version: version.to_owned(), ..Catalog::builtin() };
        edit(&mut catalog);
        catalog.verbs.sort_by(|a, b| a.name.cmp(&b.name));
        catalog
    }

    fn verb<'c>(catalog: &'c mut Catalog, name: &str) -> &'c mut Verb {
        catalog.verbs.iter_mut().find(|verb| verb.name == name).unwrap()
    }

    fn remove(catalog: &mut Catalog, names: &[&str]) {
        catalog.verbs.retain(|verb| !names.contains(&verb.name.as_str()));
    }

    fn add(catalog: &mut Catalog, name: &str) {
        let model = catalog.verbs[0].clone();
        catalog.verbs.push(Verb { name: name.to_owned(), ..model });
    }

    fn deprecate(catalog: &mut Catalog, name: &str, removed_in: Option<&str>) {
        let verb = verb(catalog, name);
        verb.deprecated_in = Some("1.1.0".to_owned());
        verb.removed_in = removed_in.map(str::to_owned);
    }

    fn shown(verbs: &[&Verb]) -> Vec<String> {
        verbs.iter().map(|verb| verb.name.clone()).collect()
    }

    #[test]
    fn a_catalog_does_not_differ_from_itself() {
        let catalog = Catalog::builtin();
        let diff = CatalogDiff::between(&catalog, &catalog);
        assert!(diff.is_empty() && diff.notes().is_empty());
    }

    #[test]
    fn each_kind_of_difference_is_found() {
        let old = edited("1.4.0", |catalog| deprecate(catalog, "BOOK", Some("2.0.0")));
        let new = edited("2.0.0", |catalog| {
            remove(catalog, &["BOOK"]);
            add(catalog, "TELEPORT");
            add(catalog, "ABDUCT");
            deprecate(catalog, "FIND", None);
            verb(catalog, "CHECK").description = "Look closely.".to_owned();
            verb(catalog, "QUOTE").categories.push("analysis".to_owned());
            catalog.legacy[0].preferred = "QUERY".to_owned();
        });
        let diff = CatalogDiff::between(&old, &new);
        assert_eq!(shown(&diff.added), ["ABDUCT", "TELEPORT"]);
        assert_eq!(shown(&diff.removed), ["BOOK"]);
        assert_eq!(diff.removed[0].deprecated_in.as_deref(), Some("1.1.0"), "as it stood");
        assert_eq!(shown(&diff.newly_deprecated), ["FIND"]);
        let changed: Vec<_> =
            diff.changed.iter().map(|change| (change.name, change.aspects.as_slice())).collect();
        let legacy = new.legacy[0].name.as_str();
        assert_eq!(changed.len(), 3);
        assert!(changed.contains(&("CHECK", &[Aspect::Description])));
        assert!(changed.contains(&("QUOTE", &[Aspect::Categories])));
        assert!(changed.contains(&(legacy, &[Aspect::Preferred])));
        assert!(changed.is_sorted_by_key(|(name, _)| *name));
        assert_eq!(diff.notes(), [""; 0]);
    }

    #[test]
    fn a_deprecation_that_changes_is_no_new_one() {
        let old = edited("1.1.0", |catalog| deprecate(catalog, "BOOK", None));
        let new = edited("1.1.1", |catalog| deprecate(catalog, "BOOK", Some("2.0.0")));
        for (one, other) in [(&old, &new), (&old, &Catalog::builtin())] {
            let diff = CatalogDiff::between(one, other);
            assert!(diff.newly_deprecated.is_empty());
            assert_eq!(diff.changed, [Change { name: "BOOK", aspects: vec![Aspect::Deprecation] }]);
        }
    }

    #[test]
    fn the_version_must_tell_what_changed() {
        let old = edited("1.2.3", |catalog| {
            deprecate(catalog, "BOOK", Some("3.0.0"));
            deprecate(catalog, "CHECK", None);
        });
        let notes = |version: &str, edit: fn(&mut Catalog)| {
            let new = edited(version, |catalog| {
                deprecate(catalog, "BOOK", Some("3.0.0"));
                deprecate(catalog, "CHECK", None);
                edit(catalog);
            });
            CatalogDiff::between(&old, &new).notes()
        };
        let unannounced = "FIND is removed without having been deprecated";
        let early = "BOOK is removed in 2.0.0, before 3.0.0, which was announced";
        assert_eq!(notes("2.0.0", |catalog| remove(catalog, &["CHECK"])), [""; 0]);
        assert_eq!(notes("2.0.0", |catalog| remove(catalog, &["BOOK"])), [early]);
        assert_eq!(notes("3.0.0", |catalog| remove(catalog, &["BOOK"])), [""; 0]);
        assert_eq!(
            notes("1.3.0", |catalog| remove(catalog, &["FIND"])),
            ["removing FIND needs a MAJOR step; 1.2.3 to 1.3.0 is less than that", unannounced]
        );
        assert_eq!(notes("1.3.0", |catalog| add(catalog, "TELEPORT")), [""; 0]);
        assert_eq!(notes("1.2.4", |catalog| add(catalog, "TELEPORT")).len(), 1);
        assert_eq!(notes("1.2.4", |catalog| deprecate(catalog, "FIND", None)).len(), 1);
        assert_eq!(notes("1.2.4", |catalog| verb(catalog, "FIND").description.push('.')), [""; 0]);
        assert_eq!(
            notes("1.2.3", |catalog| verb(catalog, "FIND").description.push('.')),
            ["the catalogs differ, but both say they are 1.2.3"]
        );
        assert_eq!(notes("1.2.3", |_| {}), [""; 0]);
        assert_eq!(
            notes("1.1.0", |catalog| remove(catalog, &["FIND"])),
            ["the version goes back, from 1.2.3 to 1.1.0"]
        );
    }

    #[test]
    fn many_names_are_cut_short() {
        let old = Catalog::builtin();
        let new = edited("1.0.1", |catalog| {
            ["ABDUCT", "TELEPORT", "UNBOOK", "UNFIND"].iter().for_each(|name| add(catalog, name));
        });
        let notes = CatalogDiff::between(&old, &new).notes();
        assert!(
            notes[0].starts_with("adding ABDUCT, TELEPORT, UNBOOK and 1 more needs a MINOR"),
            "{notes:?}"
        );
    }
}
