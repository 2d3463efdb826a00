//! 130 path templates of the shape that a large public API has: owners, repositories, nested collections.

/// Collections below a repository. None of them is a catalog verb.
const THINGS: [&str; 26] = [
    "tickets",
    "pulls",
    "commits",
    "branches",
    "tags",
    "labels",
    "milestones",
    "releases",
    "deployments",
    "hooks",
    "keys",
    "collaborators",
    "contributors",
    "stargazers",
    "subscribers",
    "forks",
    "events",
    "assets",
    "statuses",
    "pages",
    "projects",
    "artifacts",
    "secrets",
    "variables",
    "environments",
    "runners",
];

/// All of them, literals and parameters mixed at every depth.
pub fn all() -> Vec<String> {
    let mut templates = Vec::new();
    for thing in THINGS {
        templates.push(format!("/{thing}"));
        templates.push(format!("/users/{{user}}/{thing}"));
        templates.push(format!("/repos/{{owner}}/{{repo}}/{thing}"));
        templates.push(format!("/repos/{{owner}}/{{repo}}/{thing}/{{number}}"));
        templates.push(format!("/orgs/{{org}}/{thing}/latest"));
    }
    templates
}

/// One path for each template.
pub fn paths() -> Vec<String> {
    let fill = |template: String| {
        let concrete = |segment: &str| {
            match segment {
                "{user}" | "{owner}" => "octavia-e",
                "{repo}" => "parable-of-the-sower",
                "{number}" => "1347",
                "{org}" => "acme",
                literal => literal,
            }
            .to_owned()
        };
        template.split('/').map(concrete).collect::<Vec<_>>().join("/")
    };
    all().into_iter().map(fill).collect()
}

/// Parameters of a template.
pub fn params(template: &str) -> Vec<&str> {
    template.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect()
}
