//! The client of a request: the key that it has, its program, and what it can do with a question. Decides which questions it may
//! answer. Knows no store.

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use superstep::graph::{AnyGraph, Question};

use crate::error::{ApiError, ApiResult};
use crate::security::{Caller, KeyRole};

/// Returns the key of a request; `None` on a server without keys. The one place that knows how it is passed on.
fn caller_of(parts: &Parts) -> Option<Caller> {
    parts.extensions.get::<Caller>().cloned()
}

/// The client of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub caller: Option<Caller>,
    /// The program, as it names itself.
    pub program: String,
    /// Set if this very request says that its answer may be a task.
    pub takes_tasks: bool,
    /// Set if a person can fill in forms there.
    pub takes_forms: bool,
    /// Set if forms are parts of results, and not requests of the server.
    pub has_form_results: bool,
}

impl Client {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let own = context.meta.client_capabilities();
        let elicitation = context.client_capabilities().and_then(|can| can.elicitation);
        let version = context.protocol_version();
        Self {
            caller: context.extensions.get::<Parts>().and_then(caller_of),
            program: context.client_info().map(|info| info.name).unwrap_or_default(),
            takes_tasks: own.is_some_and(|can| can.supports_tasks()),
            takes_forms: elicitation.is_some_and(|forms| forms.form.is_some() || forms.url.is_none()),
            has_form_results: version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28),
        }
    }

    /// Returns the name of the key; empty without one.
    pub(super) fn key(&self) -> &str {
        self.caller.as_ref().map_or("", |caller| &caller.name)
    }

    /// Refuses a request for which the key has no right.
    pub(super) fn check(&self, needed: KeyRole) -> ApiResult<()> {
        match &self.caller {
            Some(caller) if caller.role < needed => Err(ApiError::new(
                axum::http::StatusCode::FORBIDDEN,
                format!("the key `{}` has no right to do this: it needs the role {needed}", caller.name),
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether the client may answer a question. An approval is decided by people, and not by the client that started the
    /// run: `starter` is the key of that one, empty for one without a key, and `None` if it is not known.
    pub(super) fn may_answer(&self, graph: &AnyGraph, question: &Question, starter: Option<&str>) -> bool {
        let is_approval = graph.is_answered_by_people() || !question.approvers().is_empty();
        !is_approval || self.caller.as_ref().is_some_and(|caller| caller.may_approve(question.approvers(), starter))
    }
}

impl Caller {
    /// Returns whether the key is one of a person who may decide: an administrator, an approver whom the question names, or, if it
    /// names none, anybody else than the client that started the run.
    fn may_approve(&self, approvers: &[String], starter: Option<&str>) -> bool {
        let is_named = approvers.contains(&self.name);
        match starter {
            _ if self.role == KeyRole::Admin => true,
            Some(starter) => starter != self.name && (is_named || approvers.is_empty()),
            None => is_named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(KeyRole::Read, KeyRole::Answer, false)]
    #[case(KeyRole::Answer, KeyRole::Answer, true)]
    #[case(KeyRole::Admin, KeyRole::Run, true)]
    fn a_key_has_the_rights_before_its_own(#[case] role: KeyRole, #[case] needed: KeyRole, #[case] may: bool) {
        let caller = Some(Caller { name: "ada".into(), role });
        assert_eq!(Client { caller, ..Client::default() }.check(needed).is_ok(), may);
    }

    #[rstest::rstest]
    #[case::administrator("root", KeyRole::Admin, &["ada"], Some("root"), true)]
    #[case::approver("ada", KeyRole::Answer, &["ada"], Some("agent"), true)]
    #[case::approver_of_an_unknown_run("ada", KeyRole::Answer, &["ada"], None, true)]
    #[case::approver_who_started_it("ada", KeyRole::Run, &["ada"], Some("ada"), false)]
    #[case::no_approver("ben", KeyRole::Run, &["ada"], Some("agent"), false)]
    #[case::somebody_else("ben", KeyRole::Run, &[], Some("agent"), true)]
    #[case::the_starter("agent", KeyRole::Run, &[], Some("agent"), false)]
    #[case::of_an_unknown_run("ben", KeyRole::Run, &[], None, false)]
    fn approvals_are_not_of_the_client_that_started_the_run(
        #[case] key: &str,
        #[case] role: KeyRole,
        #[case] approvers: &[&str],
        #[case] starter: Option<&str>,
        #[case] may: bool,
    ) {
        let approvers: Vec<String> = approvers.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(Caller { name: key.into(), role }.may_approve(&approvers, starter), may);
    }

    #[test]
    fn without_keys_everything_is_allowed() {
        assert!(Client::default().check(KeyRole::Admin).is_ok());
    }
}
