"""A stand-in for the Hugging Face Hub on this machine: the calls that an upload and a download of a model make."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "hf_standin"


class Standin(ThreadingHTTPServer):
    """Repositories as dicts of file names and contents, by name; and what each commit left, by number."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories, self.commits, self.private, self.calls = {}, {}, {}, []

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_port}"

    def commit(self, repo):
        """Note what a repository holds; return the number."""
        files = dict(self.repositories[repo])
        content = sorted((name, hashlib.sha1(data).hexdigest()) for name, data in files.items())
        number = hashlib.sha1(json.dumps(content).encode()).hexdigest()
        self.commits[number] = files
        return number


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.answer(self.post)

    def do_GET(self):
        self.answer(self.get)

    def do_HEAD(self):
        self.answer(self.get)

    def answer(self, handle):
        path = unquote(urlsplit(self.path).path).strip("/").split("/")
        self.server.calls.append((self.command, "/".join(path)))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        handle(path)

    def send(self, content, status=200, **headers):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(data), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, status, code, message):
        self.send({"error": message}, status, X_Error_Code=code, X_Error_Message=message)

    def post(self, path):
        server = self.server
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.refuse(401, "", "Invalid username or password.")
        if path == ["api", "repos", "create"]:
            wanted = json.loads(self.body)
            repo = f"{wanted['organization']}/{wanted['name']}"
            if repo in server.repositories:
                return self.send({"error": "exists", "url": f"{server.endpoint}/{repo}"}, 409)
            server.repositories[repo] = {".gitattributes": b""}
            server.private[repo] = wanted.get("visibility") == "private" or wanted.get("private")
            return self.send({"url": f"{server.endpoint}/{repo}"})
        if path == ["api", "validate-yaml"]:
            head = json.loads(self.body)["content"].split("---")[1]
            assert "library_name: any2vec" in head
            return self.send({"errors": [], "warnings": []})
        repo = "/".join(path[2:4])
        if path[4] == "preupload":
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(self.body)["files"]
            ]
            return self.send({"files": files})
        assert path[4:] == ["commit", "main"]
        for line in self.body.splitlines():
            change = json.loads(line)
            value = change["value"]
            if change["key"] == "file":
                server.repositories[repo][value["path"]] = base64.b64decode(value["content"])
            elif change["key"] == "deletedFile":
                del server.repositories[repo][value["path"]]
        commit = server.commit(repo)
        return self.send({"commitUrl": f"{server.endpoint}/{repo}/commit/{commit}", "commitOid": commit})

    def get(self, path):
        server = self.server
        repo = "/".join(path[2:4] if path[0] == "api" else path[:2])
        if repo not in server.repositories:
            return self.refuse(404, "RepoNotFound", "Repository not found")
        newest = server.commit(repo)
        revision = path[5] if path[0] == "api" else path[3]
        commit = newest if revision == "main" else revision
        if commit not in server.commits:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        files = server.commits[commit]
        if path[0] != "api":
            name = "/".join(path[4:])
            if name not in files:
                return self.refuse(404, "EntryNotFound", "Entry not found")
            tag = f'"{hashlib.sha1(files[name]).hexdigest()}"'
            return self.send(files[name], ETag=tag, X_Repo_Commit=commit)
        if path[4:5] == ["tree"]:
            return self.send([self.entry(name, data) for name, data in files.items()])
        siblings = [{"rfilename": name} for name in files]
        return self.send({"id": repo, "modelId": repo, "sha": commit, "siblings": siblings, "tags": []})

    @staticmethod
    def entry(name, data):
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}


@contextmanager
def standin():
    """Start one; its threads end with it."""
    server = Standin()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
