//! The admin API of Restate, as far as a worker needs it: which addresses serve a service, and changes of them.

use hyper::Method;
use serde_json::{Value, json};

use crate::address::Address;
use crate::client::{Call, request};
use crate::error::RestateError;

/// The port of Restate's admin API.
const ADMIN: u16 = 9070;

/// The admin API of a server.
#[derive(Clone, Debug)]
pub(crate) struct Admin(Address);

/// Something that serves a service: Restate's name for it, and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deployment {
    id: String,
    pub(crate) address: Address,
}

impl Admin {
    pub(crate) fn new(address: &str) -> Result<Self, RestateError> {
        Ok(Self(Address::parse(address, ADMIN)?.without_path()))
    }

    async fn call(&self, method: Method, path: &str, json: Option<&Value>) -> Result<Value, String> {
        request(&self.0, Call::new(method, path, json)).await?.json()
    }

    /// Tells Restate of a worker: from now on it gets the new calls of its service.
    pub(crate) async fn register(&self, address: &Address) -> Result<(), RestateError> {
        let told =
            self.call(Method::POST, "/deployments", Some(&json!({ "uri": address.to_string(), "force": true }))).await;
        told.map(drop).map_err(|reason| RestateError::Register { admin: self.0.to_string(), reason })
    }

    /// Returns what serves a service.
    pub(crate) async fn deployments(&self, service: &str) -> Result<Vec<Deployment>, String> {
        let all = self.call(Method::GET, "/deployments", None).await?;
        Ok(deployments_in(&all, service))
    }

    /// Has the calls of a deployment go to another address, those under way included.
    pub(crate) async fn move_to(&self, deployment: &Deployment, address: &Address) -> Result<(), String> {
        let path = format!("/deployments/{}", deployment.id);
        self.call(Method::PATCH, &path, Some(&json!({ "uri": address.to_string() }))).await.map(drop)
    }

    /// Removes deployments that get no new calls and have none under way.
    pub(crate) async fn remove_unused(&self, service: &str, all: &[Deployment]) -> Result<(), String> {
        let about = self.call(Method::GET, &format!("/services/{service}"), None).await?;
        let newest = about["deployment_id"].as_str().ok_or("it does not say what serves the service")?;
        for one in all.iter().filter(|one| one.id != newest) {
            let sql = format!(
                "SELECT id FROM sys_invocation WHERE pinned_deployment_id = '{}' AND status <> 'completed' LIMIT 1",
                one.id
            );
            let found = self.call(Method::POST, "/query", Some(&json!({ "query": sql }))).await?;
            if found["rows"].as_array().is_some_and(Vec::is_empty) {
                let path = format!("/deployments/{}?force=true", one.id);
                request(&self.0, Call::new(Method::DELETE, path, None)).await?;
            }
        }
        Ok(())
    }

    /// Returns the address of the ingress, as Restate advertises it.
    pub(crate) async fn ingress(&self) -> Option<String> {
        let about = self.call(Method::GET, "/version", None).await.ok()?;
        about["ingress_endpoint"].as_str().map(str::to_owned)
    }
}

fn deployments_in(all: &Value, service: &str) -> Vec<Deployment> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let serves = |one: &Value| list(&one["services"]).iter().any(|served| served["name"] == service);
    let read = |one: &Value| {
        let (id, uri) = (one["id"].as_str()?, one["uri"].as_str()?);
        Some(Deployment { id: id.to_owned(), address: Address::parse(uri, 80).ok()? })
    };
    list(&all["deployments"]).iter().filter(|one| serves(one)).filter_map(read).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_what_serves_the_service_counts() {
        let all = json!({"deployments": [
            {"id": "dp_1", "uri": "http://w1:9080/", "services": [{"name": "superstep", "revision": 1}]},
            {"id": "dp_2", "uri": "http://w2:9080/", "services": [{"name": "other", "revision": 1}]},
            {"id": "dp_3", "arn": "arn:aws:lambda", "services": [{"name": "superstep", "revision": 2}]},
        ]});
        let address = Address::parse("http://w1:9080", 80).unwrap();
        assert_eq!(deployments_in(&all, "superstep"), [Deployment { id: "dp_1".into(), address }]);
    }
}
