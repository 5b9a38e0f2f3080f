//! Providers whose server is named by a preset.

use crate::http_providers::{KEY, embeddings, said};
use crate::http_server::{Server, answer};
use crate::program::{Folder, Ran};

/// One message to the agent, with the variables `set` alone among those of keys.
fn ask(folder: &Folder, set: &[(&str, &str)]) -> Ran {
    let mut command = folder.support(&["-m", "Hello"]);
    for name in ["NVIDIA", "OPENAI", "OPENROUTER", "ANTHROPIC"] {
        command.env_remove(format!("{name}_API_KEY"));
    }
    command.envs(set.iter().copied());
    crate::program::finish(command.spawn().unwrap())
}

#[test]
fn a_preset_leads_to_its_server_and_to_no_other() {
    for (preset, variable, address) in [
        ("nvidia", "NVIDIA_API_KEY", "integrate.api.nvidia.com:443"),
        ("openai", "OPENAI_API_KEY", "api.openai.com:443"),
        ("openrouter", "OPENROUTER_API_KEY", "openrouter.ai:443"),
        ("anthropic", "ANTHROPIC_API_KEY", "api.anthropic.com:443"),
    ] {
        let plugin = match preset {
            "anthropic" => "model-anthropic",
            _ => "model-openai",
        };
        // A proxy is told where a request wants to go before anything is sent there.
        let proxy = Server::start(|_, _| answer("403 Forbidden", "text/plain", "not from here"));
        let folder = Folder::configured(&format!(
            "model = {plugin:?}\n[settings.{plugin}]\npreset = {preset:?}\nmodel = \"m\"\n"
        ));
        let through = ("HTTPS_PROXY", &*format!("http://{}", proxy.address()));
        ask(&folder, &[through]).failed(2, &[variable, &format!("export {variable}=")]);
        assert!(proxy.requests().is_empty());
        let ran = ask(&folder, &[through, (variable, KEY)]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let asked = proxy.requests();
        assert!(!asked.is_empty(), "{ran:?}");
        for request in &asked {
            let wanted = (request.method.as_str(), request.path.as_str());
            assert_eq!(wanted, ("CONNECT", address));
            assert!(!format!("{request:?}").contains("hunter2"), "{request:?}");
        }
    }
}

#[test]
fn a_preset_for_this_machine_asks_without_a_key_and_yields_to_explicit_settings() {
    for (preset, model) in [
        ("ollama", Some("llama3.2")),
        ("vllm", Some("llama3.2")),
        // It has one model, so that nobody need name it.
        ("llama-cpp", None),
    ] {
        let server = Server::start(|_, _| said("Good day."));
        let named = model.map_or(String::new(), |model| format!("model = {model:?}\n"));
        let folder = Folder::configured(&format!(
            "model = \"model-openai\"\n[settings.model-openai]\npreset = {preset:?}\nbase-url = {:?}\n{named}",
            server.url()
        ));
        let ran = ask(&folder, &[]).succeeded();
        assert_eq!(ran.stdout.trim(), "Good day.");
        assert!(!ran.stderr.contains("key"), "{ran:?}");
        let requests = server.requests();
        assert!(requests[0].header("authorization").is_none());
        assert_eq!(requests[0].json()["model"], model.unwrap_or("default"));
    }
}

#[test]
fn ollama_is_found_where_it_listens() {
    // Where a real one runs on this machine, there is no place for this test's.
    let Ok(server) = Server::start_at(11_434, |request, _| match request.path.as_str() {
        "/v1/embeddings" => embeddings(request),
        _ => said("Good day."),
    }) else {
        return;
    };
    let folder = Folder::configured(
        "model = \"model-openai\"\nembeddings = \"embed-openai\"\n\
         [settings.model-openai]\npreset = \"ollama\"\nmodel = \"llama3.2\"\n\
         [settings.embed-openai]\npreset = \"ollama\"\nmodel = \"nomic-embed-text\"\n",
    );
    let ran = ask(&folder, &[]).succeeded();
    assert_eq!(ran.stdout.trim(), "Good day.");
    let paths: Vec<_> = server.requests().into_iter().map(|it| it.path).collect();
    assert!(
        paths.contains(&"/v1/chat/completions".to_owned()),
        "{paths:?}"
    );
    assert!(paths.contains(&"/v1/embeddings".to_owned()), "{paths:?}");
}

#[test]
fn the_key_of_a_preset_is_not_sent_to_another_server() {
    let server = Server::start(|_, _| said("Good day."));
    let settings = |more: &str| {
        format!(
            "model = \"model-openai\"\n[settings.model-openai]\npreset = \"openai\"\nmodel = \"m\"\nbase-url = {:?}\n{more}",
            server.url()
        )
    };
    let ask = |folder: &Folder| ask(folder, &[("OPENAI_API_KEY", KEY)]).succeeded();
    let told = ask(&Folder::configured(&settings("")));
    assert!(
        told.stderr
            .contains("OPENAI_API_KEY is for https://api.openai.com/v1")
            && told.stderr.contains("name `key-variable`"),
        "{told:?}"
    );
    let quiet = ask(&Folder::configured(&settings("key-variable = \"\"\n")));
    assert!(!quiet.stderr.contains("OPENAI_API_KEY"), "{quiet:?}");
    for request in server.requests() {
        assert!(!format!("{request:?}").contains("hunter2"), "{request:?}");
    }
    // Who names the variable means it.
    ask(&Folder::configured(&settings(
        "key-variable = \"OPENAI_API_KEY\"\n",
    )));
    let last = server.requests().pop().unwrap();
    assert_eq!(
        last.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
}

#[test]
fn an_unknown_preset_is_told_with_the_list() {
    let folder =
        Folder::configured("[settings.embed-openai]\npreset = \"nvidea\"\nmodel = \"m\"\n");
    let ran = folder.say("support-agent", "Hello", &["--resource", "jordan"]);
    ran.failed(2, &["did you mean \"nvidia\"?", "ollama, llama-cpp, vllm"]);
}
