# The image of webs, workers and beat: see docker-compose.yml.
FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
RUN python -m venv /venv
COPY requirements/uv.txt requirements/base.txt requirements/
RUN /venv/bin/pip install --quiet --require-hashes -r requirements/uv.txt \
 && /venv/bin/uv pip install --quiet --python /venv/bin/python --require-hashes -r requirements/base.txt
COPY requirements/workshop.txt requirements/
RUN /venv/bin/uv venv --quiet --no-project --system-site-packages --python /usr/local/bin/python3 /opt/workshop \
 && /venv/bin/uv pip install --quiet --python /opt/workshop/bin/python3 --compile-bytecode --only-binary :all: \
    --require-hashes -r requirements/workshop.txt \
 && cd /opt/workshop/lib/python3.* && mv site-packages /opt/workshop/packages && mkdir site-packages \
 && printf '%s\n' 'import site, sys; sys.flags.no_user_site or site.addsitedir(site.getusersitepackages())' \
    'import site, sys; site.addsitedir(f"{sys.prefix}/packages")' > site-packages/workshop.pth
COPY . .
RUN /venv/bin/python -m compileall -q /app /venv/lib

FROM python:3.12-slim
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends bubblewrap git curl jq ripgrep procps \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 agentsite && mkdir /var/agentsite && chown agentsite /var/agentsite
COPY --from=build /venv /venv
COPY --from=build /opt/workshop /opt/workshop
COPY --from=build --chown=root:root /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 AGENTSITE_VAR=/var/agentsite AGENTSITE_WORKSHOP=/opt/workshop HOST=0.0.0.0
USER agentsite
VOLUME /var/agentsite
EXPOSE 8000
CMD ["python", "manage.py", "serve"]
