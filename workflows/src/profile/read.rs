//! Parses TOML into a profile, and reports every problem at once; then applies the flags of a command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use superstep::drivers::{DriverKind, DriverName, Price, RetrySettings, UnknownDriver};
use superstep_base::files;
use superstep_base::gather;
use superstep_base::settings::Problems;

use super::choices::Role;
use super::commit_template::CommitTemplate;
use super::settings::{self, AgentSettings, Api, Endpoint, Profile, Tools, TurnLimits};
use super::table::{ProfileError, Table, parse, set_if_some};

impl Profile {
    /// Reads a profile from a file.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Unreadable`], [`ProfileError::Invalid`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let file = path.as_ref();
        let text = files::text(file).map_err(|source| ProfileError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(&text, file)
    }

    /// Parses a profile from TOML. `file` is its name in errors; its stem is the default name of the profile.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`] with every problem at once: unknown keys, values of the wrong kind, settings that
    /// contradict each other, API keys.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let file = file.as_ref();
        let problems = Problems::default();
        let mut profile = Self::default();
        if let Some(table) = parse(text, &problems) {
            profile.name = file.file_stem().map_or(profile.name, |stem| stem.to_string_lossy().into_owned());
            profile.take_all(table);
        }
        let problems = problems.end();
        if problems.is_empty() { Ok(profile) } else { Err(ProfileError::Invalid { file: file.to_owned(), problems }) }
    }

    /// Returns the JSON Schema of the file, for editors: recorded while a file without keys is read, so it names the keys that
    /// [`parse`](Self::parse) takes.
    pub fn json_schema() -> serde_json::Value {
        let problems = Problems::recording();
        Self::default().take_all(Table::from(problems.root()));
        let mut schema = problems.schema();
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "superstep profile".into();
        schema
    }

    fn take_all(&mut self, mut table: Table<'_>) {
        let mut drivers = Vec::new();
        self.take_agents(&mut table, &mut drivers);
        self.take_limits(&mut table);
        self.take_plan(&mut table);
        self.take_reviews(&mut table);
        set_if_some(&mut self.name, table.text("name", any_text).map(|(_, name)| name));
        set_if_some(&mut self.working_dir, table.text("working_dir", path).map(|(_, path)| path));
        let template = table.text("commit_template", CommitTemplate::parse);
        set_if_some(&mut self.commit_template, template.map(|(_, template)| template));
        self.tools = table.table("tools").map(|table| tools(table)).unwrap_or_default();
        self.api = table.table("api").map(|table| api(table)).unwrap_or_default();
        for (at, key, driver) in drivers {
            if let Err(problem) = has_provider(&driver, &self.api) {
                table.wrong(at, &key, problem);
            }
        }
        _ = table.table("retention"); // of the runner that has this file too
        table.end();
    }

    /// Collects the drivers with their positions, because their providers are checked later.
    fn take_agents(&mut self, table: &mut Table<'_>, drivers: &mut Vec<(usize, String, DriverName)>) {
        let top = agent(table, drivers);
        set_if_some(&mut self.driver, top.driver);
        self.model = top.model;
        let Some(mut agents) = table.table("agents") else { return };
        for role in Role::EVERY {
            if let Some(mut table) = agents.table(role.name()) {
                self.agents.insert(role, agent(&mut table, drivers));
                table.end();
            }
        }
        agents.end();
    }

    fn take_limits(&mut self, table: &mut Table<'_>) {
        set_if_some(&mut self.max_task_review_iterations, table.count("max_task_review_iterations"));
        self.max_review_iterations = table.count("max_review_iterations");
        set_if_some(&mut self.max_plan_revisions, table.count("max_plan_revisions"));
        set_if_some(&mut self.verify_timeout, table.time("verify_timeout"));
        if let Some(mut limits) = table.table("limits") {
            let TurnLimits { requests, tokens, cost, wall, idle } = &mut self.limits;
            set_if_some(requests, limits.count("requests"));
            *tokens = limits.count("tokens");
            *cost = limits.dollars("cost");
            set_if_some(wall, limits.time("wall"));
            set_if_some(idle, limits.time("idle"));
            limits.end();
        }
        if let Some(mut retry) = table.table("retry") {
            let RetrySettings { attempts, wait, patience, .. } = &mut self.retry;
            set_if_some(attempts, retry.count("attempts"));
            set_if_some(wait, retry.wait("wait"));
            set_if_some(patience, retry.wait("patience"));
            retry.end();
        }
        if let Some(mut budget) = table.table("budget") {
            self.budget.cost = budget.dollars("cost");
            self.budget.tokens = budget.count("tokens");
            self.budget.wall = budget.time("wall");
            budget.end();
        }
        if let Some(prices) = table.table("prices") {
            self.prices = models(prices);
        }
    }

    fn take_plan(&mut self, table: &mut Table<'_>) {
        set_if_some(&mut self.tracker, table.choice("tracker"));
        set_if_some(&mut self.plan_dir, table.text("plan_dir", inside).map(|(_, path)| path));
        self.stay_on_branch = table.flag("stay_on_branch");
        set_if_some(&mut self.plan_in_repo, table.flag("plan_in_repo"));
        let context = table.choice("plan_context");
        set_if_some(&mut self.plan_context, context);
        set_if_some(&mut self.phased.plan_context, context);
        self.phased.take(table);
    }

    fn take_reviews(&mut self, table: &mut Table<'_>) {
        set_if_some(&mut self.on_exhausted, table.choice("on_exhausted"));
        set_if_some(&mut self.retry_session, table.choice("retry_session"));
        set_if_some(&mut self.final_review, table.flag("final_review"));
        let Some((at, types)) = table.texts("review_types") else { return };
        if types.is_empty() {
            table.wrong(at, "review_types", "is empty; name at least one, such as `general`");
        } else if gather::<BTreeSet<_>, _>(types.iter()).len() < types.len() {
            table.wrong(at, "review_types", "lists a type twice");
        }
        self.review_types = types;
    }
}

fn agent(table: &mut Table<'_>, drivers: &mut Vec<(usize, String, DriverName)>) -> AgentSettings {
    let driver = table.text("driver", driver);
    drivers.extend(driver.iter().map(|(at, name)| (*at, table.path_of("driver"), name.clone())));
    AgentSettings { driver: driver.map(|(_, name)| name), model: table.text("model", any_text).map(|(_, model)| model) }
}

/// Reads the price of each model. Cached input tokens cost as much as other input tokens by default.
fn models(mut table: Table<'_>) -> BTreeMap<String, Price> {
    let mut prices = BTreeMap::new();
    for (model, at, mut price) in table.tables() {
        let [input, output, cache_read] = ["input", "output", "cache_read"].map(|key| price.price(key));
        for (key, found) in [("input", input), ("output", output)] {
            if found.is_none() && !price.has(key) {
                table.wrong(at, &model, format!("has no `{key}`, in dollars per million tokens"));
            }
        }
        price.end();
        let input = input.unwrap_or_default();
        let price = Price { input, output: output.unwrap_or_default(), cache_read: cache_read.unwrap_or(input) };
        prices.insert(model, price);
    }
    table.end();
    prices
}

fn tools(mut table: Table<'_>) -> Tools {
    let tools = Tools {
        shell: table.flag("shell").unwrap_or_default(),
        command_prefix: table.texts("command_prefix").map(|(_, prefix)| prefix).unwrap_or_default(),
        pass: parse_pass(&mut table),
        command_timeout: table.time("command_timeout"),
    };
    table.end();
    tools
}

/// Reads the names of environment variables.
fn parse_pass(table: &mut Table<'_>) -> Vec<String> {
    let Some((at, names)) = table.texts("pass") else { return vec![] };
    for name in names.iter().filter(|name| !settings::is_env_name(name)) {
        let shown = if name.contains('=') { "an entry" } else { name };
        table.wrong(at, "pass", format!("{shown} is not the name of an environment variable"));
    }
    names
}

/// Reads `[api]`: `base_url` and `api_key_env` are its own settings; each table in it is a provider.
fn api(mut table: Table<'_>) -> Api {
    let default = endpoint(&mut table);
    let mut providers = BTreeMap::new();
    for (name, at, mut provider) in table.tables() {
        let endpoint = endpoint(&mut provider);
        if !DriverName::is_provider(&name) {
            table.wrong(at, &name, "is not the name of a provider: letters, digits, `-`, `_` and `.`");
        } else if endpoint.base_url.is_none() && !provider.has("base_url") {
            table.wrong(at, &name, "has no `base_url`");
        }
        provider.end();
        providers.insert(name, endpoint);
    }
    table.end();
    Api { default, providers }
}

fn endpoint(table: &mut Table<'_>) -> Endpoint {
    let base_url = table.text("base_url", |url| settings::base_url(url).map_err(str::to_owned));
    let name = |name: &str| {
        let message = "is not the name of an environment variable; keep the key itself out of the profile";
        if settings::is_env_name(name) { Ok(name.to_owned()) } else { Err(message.to_owned()) }
    };
    let api_key_env = table.text("api_key_env", name);
    Endpoint { base_url: base_url.map(|(_, url)| url), api_key_env: api_key_env.map(|(_, name)| name) }
}

fn driver(name: &str) -> Result<DriverName, String> {
    name.parse().map_err(|unknown: UnknownDriver| unknown.to_string())
}

fn any_text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

/// Parses a folder inside the repository.
fn inside(text: &str) -> Result<PathBuf, String> {
    use std::path::Component;
    let path = PathBuf::from(text);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_inside { Ok(path) } else { Err("must be a folder inside the repository, without `..`".to_owned()) }
}

/// Checks that the driver's provider has a table.
fn has_provider(driver: &DriverName, api: &Api) -> Result<(), String> {
    match driver.kind() {
        DriverKind::Api(Some(provider)) if !api.providers.contains_key(provider) => {
            Err(format!("the profile has no table `[api.{provider}]` with the `base_url` of that provider"))
        }
        DriverKind::Api(_) | DriverKind::Program(_) | DriverKind::Scripted(_) => Ok(()),
    }
}

/// The command-line flags that override a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Overrides {
    /// The driver of every agent, even of those with their own: `--driver`.
    pub driver: Option<DriverName>,
    /// The repository: `--dir`.
    pub working_dir: Option<PathBuf>,
    /// The maximum number of attempts at a task, also for a plan without task headings: `--max-task-reviews`.
    pub max_task_review_iterations: Option<u32>,
    /// The maximum number of parallel subtasks of a phase: `--max-parallel`.
    pub max_parallel: Option<u32>,
    /// Set to end on the branch of the work: `--stay`.
    pub stay: bool,
}

impl Profile {
    /// Applies the flags to the profile.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Flag`] for a driver of an unknown provider, an empty folder, no attempts.
    pub fn with(mut self, overrides: Overrides) -> Result<Self, ProfileError> {
        let wrong = |flag, problem: String| ProfileError::Flag { flag, problem };
        if let Some(driver) = overrides.driver {
            self.driver = driver;
            self.agents.values_mut().for_each(|agent| agent.driver = None);
            has_provider(&self.driver, &self.api).map_err(|problem| wrong("--driver", problem))?;
        }
        if let Some(folder) = overrides.working_dir {
            if folder.as_os_str().is_empty() {
                return Err(wrong("--dir", "is empty".to_owned()));
            }
            self.working_dir = folder;
        }
        if let Some(attempts) = overrides.max_task_review_iterations {
            if attempts == 0 {
                return Err(wrong("--max-task-reviews", "must be at least 1".to_owned()));
            }
            self.max_task_review_iterations = attempts;
            self.max_review_iterations = None;
        }
        if let Some(most) = overrides.max_parallel {
            if most == 0 {
                return Err(wrong("--max-parallel", "must be at least 1".to_owned()));
            }
            self.phased.max_parallel = most;
        }
        self.stay_on_branch = if overrides.stay { Some(true) } else { self.stay_on_branch };
        Ok(self)
    }
}
