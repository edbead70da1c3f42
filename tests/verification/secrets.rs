//! Keys and tokens in the added lines of a diff. The secrets are made up, and assembled so that scanners ignore them.

use proptest::prelude::*;
use rstest::rstest;
use superstep::findings::{Finding, secrets_in};

fn diff(lines: &[&str]) -> String {
    let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -7,0 +8,{} @@\n{added}", lines.len())
}

fn found(line: &str) -> Vec<Finding> {
    secrets_in(&diff(&[line]), "secrets")
}

fn shown(line: &str) -> String {
    let line_of = |finding: &Finding| format!("{} | {}", finding.message, finding.evidence.log.as_deref().unwrap());
    found(line).iter().map(line_of).collect::<Vec<_>>().join("\n")
}

/// A text of letters and digits, as random as a key.
fn random(length: usize) -> String {
    "q7Xk2ZbN9wPf4LrT8vJm3HcY6sDgQ1EaUo5".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "4f9a1c7be802d365".chars().cycle().take(length).collect()
}

#[rstest]
#[case::aws("AKIA", "Q3EGR7MEZAM4T2ZB", "aws-access-key: an access key of AWS: AKIA…")]
#[case::github("ghp_", &random(36), "github-token: a token of GitHub: ghp_…")]
#[case::github_fine("github_pat_", &random(40), "github-token: a token of GitHub: gith…")]
#[case::gitlab("glpat-", &random(20), "gitlab-token: a token of GitLab: glpa…")]
#[case::slack("xoxb-", &random(24), "slack-token: a token of Slack: xoxb…")]
#[case::slack_webhook("https://hooks.slack.com/services/", &random(30), "slack-webhook: a webhook of Slack: http…")]
#[case::google("AIza", &random(35), "google-api-key: an API key of Google: AIza…")]
#[case::stripe("sk_live_", &random(24), "stripe-key: a key of Stripe: sk_l…")]
#[case::anthropic("sk-ant-", &random(40), "anthropic-key: an API key of Anthropic: sk-a…")]
#[case::openai("sk-proj-", &random(40), "openai-key: an API key of OpenAI: sk-p…")]
#[case::openai_old("sk-", &random(48), "openai-key: an API key of OpenAI: sk-q…")]
#[case::npm("npm_", &random(36), "npm-token: a token of npm: npm_…")]
#[case::pypi("pypi-", &random(60), "pypi-token: a token of PyPI: pypi…")]
#[case::crates("cio", &random(32), "crates-token: a token of crates.io: cioq…")]
#[case::huggingface("hf_", &random(34), "huggingface-token: a token of Hugging Face: hf_q…")]
#[case::sendgrid("SG.", &format!("{}.{}", random(22), random(43)), "sendgrid-key: an API key of SendGrid: SG.q…")]
#[case::digitalocean("dop_v1_", &hex(64), "digitalocean-token: a token of DigitalOcean: dop_…")]
#[case::twilio("SK", &hex(32), "twilio-key: a key of Twilio: SK4f…")]
#[case::shopify("shpat_", &hex(32), "shopify-token: a token of Shopify: shpa…")]
#[case::docker("dckr_pat_", &random(27), "docker-token: a token of Docker Hub: dckr…")]
#[case::vault("hvs.", &random(24), "vault-token: a token of Vault: hvs.…")]
#[case::google_oauth("GOCSPX-", &random(28), "google-oauth: an OAuth secret of Google: GOCS…")]
#[case::stripe_webhook("whsec_", &random(32), "stripe-webhook: a webhook secret of Stripe: whse…")]
#[case::openrouter("sk-or-v1-", &hex(64), "openrouter-key: an API key of OpenRouter: sk-o…")]
#[case::telegram("1234567081:AA", &random(33), "telegram-token: a token of a Telegram bot: 1234…")]
#[case::age("AGE-SECRET-KEY-1", &random(58).to_uppercase(), "age-key: a secret key of age: AGE-…")]
#[case::jwt("eyJ", &format!("{}.eyJ{}.{}", random(20), random(30), random(43)), "jwt: a JSON Web Token: eyJq…")]
fn well_known_formats_are_found(#[case] head: &str, #[case] tail: &str, #[case] message: &str) {
    let secret = [head, tail].concat();
    for line in [format!("let key = \"{secret}\";"), format!("KEY={secret}"), format!("  - {secret}")] {
        let findings = found(&line);
        assert_eq!(findings.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>(), [message], "{line}");
        assert!(!serde_json::to_string(&findings).unwrap().contains(&secret), "{line}");
    }
}

#[rstest]
#[case::private_key("-----BEGIN RSA PRIVATE KEY-----MIIEow", "private-key: a private key: ----… | ----…")]
#[case::aws_secret(
    &format!("aws_secret_access_key = {}", random(40)),
    "aws-secret-key: a secret key of AWS: q7Xk… | aws_secret_access_key = q7Xk…"
)]
#[case::azure(&format!("x;AccountKey={}==;y", random(86)), "azure-key: a key of Azure: q7Xk… | x;AccountKey=q7Xk…")]
#[case::address(
    "DB=postgres://ada:tr0ub4dor@db.local/x?key=y",
    "password-in-address: a password in an address: tr… | DB=postgres://ada:tr…"
)]
#[case::password("password = \"tr0ub4dor&3-Zq\"", "secret-in-variable: a secret: tr0… | password = \"tr0…")]
#[case::json(
    "{\"db_password\": \"tr0ub4dor&3\", \"a\": 1}",
    "secret-in-variable: a secret: tr… | {\"db_password\": \"tr…"
)]
#[case::call(
    "config['api_key'] = 'f81d4fae7dec11d0'",
    "secret-in-variable: a secret: f81d… | config['api_key'] = 'f81d…"
)]
#[case::environment("CLIENT_SECRET=f81d4fae7dec11d0a765", "secret-in-variable: a secret: f81d… | CLIENT_SECRET=f81d…")]
#[case::yaml("  auth_token: f81d4fae7dec11d0a765", "secret-in-variable: a secret: f81d… | auth_token: f81d…")]
fn secrets_are_found_by_what_is_around_them(#[case] line: &str, #[case] expected: &str) {
    assert_eq!(shown(line), expected);
}

#[rstest]
#[case::documentation("AKIAIOSFODNN7EXAMPLE")]
#[case::masked(&format!("token = \"ghp_{}\"", "x".repeat(36)))]
#[case::starred("password = \"************\"")]
#[case::angle("password = \"<your-password>\"")]
#[case::your("api_key = \"your_api_key_here\"")]
#[case::changeme("password: \"changeme-please1\"")]
#[case::variable("password = \"${DB_PASSWORD_2}\"")]
#[case::template("token: \"{{ secrets.TOKEN_1 }}\"")]
#[case::environment("token = process.env.GITHUB_TOKEN_2")]
#[case::call("let token = std::env::var(\"GITHUB_TOKEN\")?;")]
#[case::python("password = os.environ[\"PASSWORD_1\"]")]
#[case::words("secret_name = \"database-password\"")]
#[case::key_of_a_setting("token: \"auth.token.header\"")]
#[case::a_type("token: Option<String>,")]
#[case::short("password = \"hunter2\"")]
#[case::uniform("password = \"aaaaaaaabbbb\"")]
#[case::public_key("-----BEGIN PUBLIC KEY-----")]
#[case::git("commit f2d3ce0bdc1e0b1a3f4e5d6c7b8a9f0e1d2c3b4a")]
#[case::lock("checksum = \"f81d4fae7dec11d0a76500a0c91e6bf6f81d4fae7dec11d0a76500a0c91e6bf6\"")]
#[case::address("http://localhost:8080/a@b")]
#[case::address_with_variables("postgres://user:${PASSWORD}@db/x")]
#[case::named("http://username:password@host/")]
#[case::pattern("token = r'(?=[A-Z0-9_]{4,8})'")]
#[case::kind("lastToken = \"?NonExpression1Paren\"")]
#[case::task("task-runner-configuration-for-sk-learn-and-more")]
#[case::tokens("max_tokens: 100000000000000000")]
fn a_placeholder_is_not_a_secret(#[case] line: &str) {
    assert_eq!(shown(line), "");
}

#[test]
fn only_added_lines_count_and_have_their_numbers() {
    let key = |letter: &str| ["AKIA", "Q3EGR7MEZAM4T2Z", letter].concat();
    let diff = format!(
        "diff --git a/old.env b/new.env\nrename from old.env\n--- a/old.env\n+++ b/new.env\n@@ -1,4 +1,4 @@\n one\n-{a}\n+++ {b}\n {c}\n\
         +{d}\n-gone\n\\ No newline at end of file\n@@ -20 +40 @@ {e}\n-x\n+{f}\n\
         diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-{a}\n\
         --- /dev/null\n+++ \"b/gr\\303\\266\\303\\237e.env\"\n@@ -0,0 +1,2 @@\n+\n+{b}\n",
        a = key("A"),
        b = key("B"),
        c = key("C"),
        d = key("D"),
        e = key("E"),
        f = key("F")
    );
    let places: Vec<String> = secrets_in(&diff, "secrets")
        .iter()
        .map(|finding| format!("{}:{}", finding.evidence.file.as_deref().unwrap(), finding.evidence.lines.unwrap()))
        .collect();
    assert_eq!(places, ["new.env:2", "new.env:4", "new.env:40", "größe.env:2"]);
}

#[test]
fn a_secret_has_the_same_fingerprint_at_another_line() {
    let key = ["AKIA", "Q3EGR7MEZAM4T2ZB"].concat();
    let fingerprints = |lines: &[&str]| -> Vec<_> {
        secrets_in(&diff(lines), "secrets").into_iter().map(|finding| finding.fingerprint).collect()
    };
    let other = ["AKIA", "Q3EGR7MEZAM4T2ZC"].concat();
    assert_eq!(fingerprints(&[&key]), fingerprints(&["", &format!("k = '{key}'")]));
    assert_ne!(fingerprints(&[&key]), fingerprints(&[&other]));
}

#[test]
fn two_secrets_in_a_line_are_masked_in_both_findings() {
    let line = format!("{} {}", ["AKIA", "Q3EGR7MEZAM4T2ZB"].concat(), ["ghp_", &random(36)].concat());
    insta::assert_snapshot!(shown(&line), @"
    aws-access-key: an access key of AWS: AKIA… | AKIA… ghp_…
    github-token: a token of GitHub: ghp_… | AKIA… ghp_…
    ");
}

proptest! {
    #[test]
    fn no_finding_shows_a_secret(before in "[ -~]{0,20}", secret in "[A-Za-z0-9]{16,40}", after in "[ -~]{0,20}") {
        let line = format!("{before}password = \"{secret}\"{after}");
        let text = serde_json::to_string(&secrets_in(&diff(&[&line]), "secrets")).unwrap();
        prop_assert!(!text.contains(&secret[5..]), "{}", text);
    }

    #[test]
    fn any_diff_is_read(lines in prop::collection::vec("[-+ @\\\\]{1,3}[ -~]{0,20}|@@ -[0-9]{1,3},[0-9] \\+[0-9]{1,11} @@|\\+\\+\\+ \"?\\PC{0,9}\"?", 0..9)) {
        let findings = secrets_in(&lines.join("\n"), "secrets");
        prop_assert!(findings.iter().all(|finding| finding.evidence.file.is_some()));
    }
}
