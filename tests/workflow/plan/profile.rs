//! Profiles: settings in a file, defaults, and the errors of a broken file.

use std::path::Path;
use std::time::Duration;

use rstest::rstest;
use superstep::drivers::{DriverName, Limits, RetrySettings};
use superstep_workflows::{
    OnExhausted, Overrides, PhasedSettings, PlanContext, Profile, ProfileError, RetrySession, Role, Tracker, TurnLimits,
};

const PAGE: &str = include_str!("../../../docs/profile.md");

fn profile(text: &str) -> Profile {
    Profile::parse(text, "p.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Profile::parse(text, "p.toml").unwrap_err().to_string()
}

fn example() -> &'static str {
    PAGE.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0
}

#[test]
fn an_empty_profile_has_the_defaults() {
    let defaults = Profile { name: "p".to_owned(), ..Profile::default() };
    assert_eq!(profile(""), defaults);
    assert_eq!((defaults.max_task_review_iterations, defaults.max_plan_revisions), (5, 3));
    assert_eq!((defaults.driver.to_string().as_str(), defaults.model.as_deref()), ("api", None));
    assert_eq!((defaults.plan_context, defaults.on_exhausted), (PlanContext::Section, OnExhausted::Halt));
    assert_eq!((defaults.retry_session, defaults.tracker), (RetrySession::Resume, Tracker::File));
    assert_eq!((defaults.final_review, defaults.plan_in_repo, defaults.tools.shell), (true, false, false));
    assert_eq!(Limits::from(&defaults.limits), Limits::default());
}

#[test]
fn the_documented_profile_is_read_and_names_every_key() {
    let read = profile(example());
    let seconds = Duration::from_secs;
    let limits = TurnLimits { tokens: Some(2_000_000), cost: Some(5_000_000), ..TurnLimits::default() };
    assert_eq!(read.limits, limits);
    assert_eq!((read.limits.wall, read.limits.idle, read.verify_timeout), (seconds(3600), seconds(600), seconds(600)));
    assert_eq!(read.agent(Role::Architect).driver.to_string(), "api:openrouter");
    assert_eq!(read.agent(Role::Developer).model.as_deref(), Some("gpt-5"));
    assert_eq!(read.agent(Role::Reviewer).model.as_deref(), Some("careful"));
    assert_eq!(read.agent(Role::Reviewer).driver.to_string(), "api");
    let openrouter = read.api.endpoint(Some("openrouter")).unwrap();
    assert_eq!(openrouter.base_url.as_deref(), Some("https://openrouter.ai/api/v1"));
    let documented = Profile {
        name: "tides".to_owned(),
        model: Some("gpt-5".to_owned()),
        max_review_iterations: Some(5),
        agents: read.agents.clone(),
        api: read.api.clone(),
        tools: read.tools.clone(),
        budget: read.budget,
        prices: read.prices.clone(),
        stay_on_branch: Some(false),
        phased: PhasedSettings {
            plan_context: PlanContext::Section,
            worktree: read.phased.worktree.clone(),
            ..PhasedSettings::default()
        },
        limits,
        ..Profile::default()
    };
    assert_eq!(read, documented, "what the page calls a default");
    let stored = serde_json::to_value(&read).unwrap();
    let missing = stored.as_object().unwrap().keys().filter(|key| !example().contains(key.as_str()));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_example_is_read_with_and_without_its_commented_out_settings() {
    let example = include_str!("../../../examples/tasks/superstep.toml");
    let read = profile(example);
    assert_eq!((read.driver.to_string().as_str(), read.max_task_review_iterations), ("cli:claude", 3));
    assert_eq!(read.agent(Role::Reviewer).driver.to_string(), "cli:codex");
    let (_, rest) = example.split_once("above:\n").unwrap();
    let read = profile(&rest.lines().map(|line| format!("{}\n", line.trim_start_matches('#'))).collect::<String>());
    assert_eq!((read.driver.to_string().as_str(), read.tools.shell), ("api", true));
}

#[test]
fn the_profile_of_the_issue_is_read() {
    let read = profile(
        "name = \"x\"\ndriver = \"api\"\nmodel = \"m\"\nworking_dir = \".\"\nmax_task_review_iterations = 10\n\
         plan_context = \"full\"\non_exhausted = \"skip\"\nretry_session = \"fresh_reset\"\nreview_types = [\"general\", \"security\"]\n\
         final_review = false\n[api]\nbase_url = \"http://127.0.0.1:1/v1/\"\napi_key_env = \"K\"\n[tools]\nshell = true\n\
         command_prefix = [\"sandbox\", \"-x\"]\ncommand_timeout = \"90s\"\n[agents.developer]\nmodel = \"d\"\n",
    );
    assert_eq!(read.max_task_review_iterations, 10);
    assert_eq!((read.plan_context, read.on_exhausted), (PlanContext::Full, OnExhausted::Skip));
    assert_eq!(read.retry_session, RetrySession::FreshReset);
    assert_eq!(read.api.default.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
    assert_eq!(read.tools.command_prefix, ["sandbox", "-x"]);
    assert_eq!(read.tools.command_timeout.map(|time| time.as_secs()), Some(90));
    assert_eq!(read.agent(Role::Developer).model.as_deref(), Some("d"));
}

#[rstest]
#[case::unknown("modle = 'm'\n", "p.toml:1: modle: this key is unknown; did you mean `model`?")]
#[case::unknown_far("zzz = 1\n", "p.toml:1: zzz: this key is unknown")]
#[case::nested("\n[tools]\nshel = true\n", "p.toml:3: tools.shel: this key is unknown; did you mean `shell`?")]
#[case::dotted(
    "tools.x = 1\n",
    "p.toml:1: tools.x: this key is unknown; there are `shell`, `command_prefix`, `pass`, `command_timeout`"
)]
#[case::inline(
    "\ntools = { x = 1 }\n",
    "p.toml:2: tools.x: this key is unknown; there are `shell`, `command_prefix`, `pass`, `command_timeout`"
)]
#[case::role(
    "[agents.reviever]\nmodel = 'm'\n",
    "p.toml:1: agents.reviever: this key is unknown; did you mean `reviewer`?"
)]
#[case::role_key(
    "[agents.reviewer]\nmodl = 'm'\n",
    "p.toml:2: agents.reviewer.modl: this key is unknown; did you mean `model`?"
)]
#[case::api_key(
    "[api.x]\nbase_url = 'http://h'\nbase_ulr = 'y'\n",
    "p.toml:3: api.x.base_ulr: this key is unknown; did you mean `base_url`?"
)]
#[case::api_word("[api]\nurl = 'http://h'\n", "p.toml:2: api.url: this key is unknown; did you mean `base_url`?")]
#[case::text("model = 3\n", "p.toml:1: model: must be a string in quotes, not a whole number")]
#[case::flag("final_review = 'yes'\n", "p.toml:1: final_review: must be `true` or `false`, not this string")]
#[case::zero("max_task_review_iterations = 0\n", "p.toml:1: max_task_review_iterations: must be at least 1")]
#[case::negative("max_plan_revisions = -1\n", "p.toml:1: max_plan_revisions: must be at least 1")]
#[case::large("max_task_review_iterations = 4294967296\n", "p.toml:1: max_task_review_iterations: is too large")]
#[case::float(
    "max_task_review_iterations = 2.5\n",
    "p.toml:1: max_task_review_iterations: must be a whole number, not a number with a point"
)]
#[case::word("on_exhausted = 'stop'\n", "p.toml:1: on_exhausted: `stop` is not one of `halt`, `skip`, `fail`")]
#[case::near_word(
    "plan_context = 'sections'\n",
    "p.toml:1: plan_context: `sections` is not one of `section`, `outline`, `full`; did you mean `section`?"
)]
#[case::time(
    "verify_timeout = '10 minutes'\n",
    "p.toml:1: verify_timeout: must be a time: whole seconds, or a string such as `90s`, `10m`, `1h`, not this string"
)]
#[case::no_time("[limits]\nidle = 0\n", "p.toml:2: limits.idle: must be from one second to 30 days")]
#[case::cost("[limits]\ncost = -1\n", "p.toml:2: limits.cost: must be more than 0, and at most 1e9")]
#[case::nan("[limits]\ncost = nan\n", "p.toml:2: limits.cost: must be more than 0, and at most 1e9")]
#[case::no_table("tools = true\n", "p.toml:1: tools: must be a table, not `true` or `false`")]
#[case::tables("[[tools]]\nshell = true\n", "p.toml:1: tools: must be a table, not a list")]
#[case::prefix(
    "[tools]\ncommand_prefix = ['a', 1]\n",
    "p.toml:2: tools.command_prefix: must be a list of strings, not a whole number"
)]
#[case::prefix_text(
    "[tools]\ncommand_prefix = 'a b'\n",
    "p.toml:2: tools.command_prefix: must be a list of strings, not this string"
)]
#[case::no_reviews("review_types = []\n", "p.toml:1: review_types: is empty; name at least one, such as `general`")]
#[case::reviews_twice("review_types = ['a', 'a']\n", "p.toml:1: review_types: lists a type twice")]
#[case::empty("model = ' '\n", "p.toml:1: model: is empty")]
#[case::outside("plan_dir = '../plans'\n", "p.toml:1: plan_dir: must be a folder inside the repository, without `..`")]
#[case::driver(
    "driver = 'codex'\n",
    "p.toml:1: driver: there is no driver `codex`; there are `api`, `api:PROVIDER`, `cli:codex`, `cli:claude` and `scripted:FILE`; did you mean `cli:codex`?"
)]
#[case::agent_driver(
    "[agents.architect]\ndriver = 'cli:x'\n",
    "p.toml:2: agents.architect.driver: there is no driver `cli:x`; there are `api`, `api:PROVIDER`, `cli:codex`, `cli:claude` and `scripted:FILE`"
)]
#[case::no_provider(
    "driver = 'api:x'\n",
    "p.toml:1: driver: the profile has no table `[api.x]` with the `base_url` of that provider"
)]
#[case::no_url("[api.x]\napi_key_env = 'K'\n", "p.toml:1: api.x: has no `base_url`")]
#[case::url(
    "[api]\nbase_url = 'localhost:80'\n",
    "p.toml:2: api.base_url: is not a URL that starts with `http://` or `https://`"
)]
#[case::no_host("[api]\nbase_url = 'http:///v1'\n", "p.toml:2: api.base_url: is not the URL of a server")]
#[case::port("[api]\nbase_url = 'http://h:x/v1'\n", "p.toml:2: api.base_url: is not the URL of a server")]
#[case::query(
    "[api]\nbase_url = 'http://h/v1?a=b'\n",
    "p.toml:2: api.base_url: has a `?` or `#`; `/chat/completions` is appended to it"
)]
#[case::base_url_table("[api.base_url]\nx = 1\n", "p.toml:1: api.base_url: must be a string in quotes, not a table")]
#[case::crlf("name = 'x'\r\n\r\nmodle = 'm'\r\n", "p.toml:3: modle: this key is unknown; did you mean `model`?")]
fn an_error_in_a_profile_is_reported_with_its_place(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(refused(text), expected);
}

#[test]
fn every_problem_is_reported_at_once_in_the_order_of_the_file() {
    let text = "modle = 'm'\nfinal_review = 1\n\n[agents.tester]\n\n[api.x]\nbase_url = 'ftp://h'\nfoo = 1\n\n[tools]\nshell = 0\n";
    insta::assert_snapshot!(refused(text), @"
    p.toml:1: modle: this key is unknown; did you mean `model`?
    p.toml:2: final_review: must be `true` or `false`, not a whole number
    p.toml:4: agents.tester: this key is unknown; there are `architect`, `developer`, `reviewer`, `verifier`, `splitter`
    p.toml:7: api.x.base_url: is not a URL that starts with `http://` or `https://`
    p.toml:8: api.x.foo: this key is unknown; there are `base_url`, `api_key_env`
    p.toml:11: tools.shell: must be `true` or `false`, not a whole number
    ");
}

#[test]
fn a_syntax_error_is_reported_with_its_place() {
    insta::assert_snapshot!(refused("name = 'x'\nmodel = \nmodel = 'y'\nname = 'z'\n"), @"
    p.toml:2: string values must be quoted, expected literal string
    p.toml:3: model: duplicate key
    p.toml:4: name: duplicate key
    ");
}

#[rstest]
#[case("[api]\napi_key = 'sk-SECRET'\n")]
#[case("[api.x]\nbase_url = 'http://h'\nkey = 'sk-SECRET'\n")]
#[case("OPENAI_API_KEY = 'sk-SECRET'\n")]
#[case("token = 'sk-SECRET'\n")]
#[case("[api]\napi_key_env = 'sk-SECRET'\n")]
#[case("[api]\nbase_url = 'https://me:SECRET@h/v1'\n")]
#[case("[api]\nbase_url = ['SECRET']\n")]
#[case("[api]\nkey = SECRET\n")]
fn a_key_is_refused_and_not_shown(#[case] text: &str) {
    let error = Profile::parse(text, "p.toml").unwrap_err();
    let error_text = format!("{error} {error:?} {}", error.help().unwrap_or_default());
    assert!(!error_text.contains("SECRET"), "{error_text}");
    assert!(error_text.contains("key"), "{error_text}");
}

#[rstest]
#[case("https://h")]
#[case("http://127.0.0.1:8080/v1")]
#[case("http://[::1]:80/v1")]
#[case("https://a.b-c.example/x/y")]
fn an_address_is_read(#[case] url: &str) {
    assert_eq!(profile(&format!("[api]\nbase_url = '{url}///'\n")).api.default.base_url.as_deref(), Some(url));
}

#[test]
fn a_provider_never_gets_the_default_key() {
    let read = profile("[api]\nbase_url = 'http://a'\n[api.x]\nbase_url = 'http://b'\n");
    assert_eq!(read.api.endpoint(None).unwrap().api_key_env.as_deref(), Some("OPENAI_API_KEY"));
    assert_eq!(read.api.endpoint(Some("x")).unwrap().api_key_env, None);
    assert_eq!(read.api.endpoint(Some("y")), None);
}

#[test]
fn flags_override_the_profile() {
    let text =
        "driver = 'cli:codex'\nmax_review_iterations = 2\n[agents.reviewer]\ndriver = 'cli:claude'\nmodel = 'n'\n";
    let overrides = Overrides {
        driver: Some(DriverName::Scripted("demo.yaml".into())),
        working_dir: Some("/x".into()),
        max_task_review_iterations: Some(1),
        max_parallel: Some(3),
        stay: true,
    };
    assert_eq!(profile(text).with(Overrides::default()).unwrap(), profile(text));
    assert_eq!((profile(text).attempts(true), profile(text).attempts(false)), (5, 2));
    let read = profile(text).with(overrides).unwrap();
    let reviewer = read.agent(Role::Reviewer);
    assert_eq!((reviewer.driver.to_string().as_str(), reviewer.model.as_deref()), ("scripted:demo.yaml", Some("n")));
    assert_eq!(read.working_dir, Path::new("/x"));
    assert_eq!((read.attempts(true), read.attempts(false)), (1, 1));
}

#[rstest]
#[case(Overrides { driver: "api:x".parse().ok(), ..Overrides::default() }, "--driver: the profile has no table `[api.x]`")]
#[case(Overrides { max_task_review_iterations: Some(0), ..Overrides::default() }, "--max-task-reviews: must be at least 1")]
#[case(Overrides { working_dir: Some("".into()), ..Overrides::default() }, "--dir: is empty")]
fn invalid_flags_are_refused(#[case] overrides: Overrides, #[case] expected: &str) {
    let error_text = Profile::default().with(overrides).unwrap_err().to_string();
    assert!(error_text.starts_with(expected), "{error_text}");
}

#[test]
fn a_profile_is_stored_and_read_back_even_without_newer_settings() {
    let read = profile(example());
    let stored = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&stored).unwrap(), read);
    let former = serde_json::from_str::<Profile>("{}").unwrap();
    assert_ne!(former.commit_template, Profile::default().commit_template, "a run goes on as it was started");
    assert_eq!(Profile { commit_template: Profile::default().commit_template, ..former }, Profile::default());
}

#[test]
fn a_profile_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tides.toml");
    assert!(matches!(Profile::read(&file), Err(ProfileError::Unreadable { .. })));
    std::fs::write(&file, "\u{feff}model = 'm'\n").unwrap();
    assert_eq!(Profile::read(&file).unwrap().name, "tides");
    std::fs::write(&file, "\nmodle = 'm'\n").unwrap();
    let error_text = Profile::read(&file).unwrap_err().to_string();
    assert!(error_text.starts_with(&format!("{}:2: modle: ", file.display())), "{error_text}");
}

#[test]
fn retries_are_read_with_parts_of_a_second_and_none() {
    let read = profile("[retry]\nattempts = 2\nwait = \"250ms\"\npatience = \"0s\"\n");
    let retry = RetrySettings::default().attempts(2).wait(Duration::from_millis(250)).patience(Duration::ZERO);
    assert_eq!((read.retry, Profile::default().retry.patience), (retry, Duration::from_secs(600)));
    insta::assert_snapshot!(refused("[retry]\nattempts = 0\nwait = \"soon\"\npatience = \"60d\"\ntries = 3\n"), @"
    p.toml:2: retry.attempts: must be at least 1
    p.toml:3: retry.wait: must be a time: whole seconds, or a string such as `500ms`, `90s`, `10m`, not this string
    p.toml:4: retry.patience: must be a time: whole seconds, or a string such as `500ms`, `90s`, `10m`, not this string
    p.toml:5: retry.tries: this key is unknown; there are `attempts`, `wait`, `patience`
    ");
}
