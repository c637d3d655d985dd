# Builds the one image of all roles: api, worker, migrate and the management commands. No secret may be baked in.
FROM node:24.18.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages packages
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json tsconfig.package.json openapi.json ./
COPY scripts scripts
COPY src src
COPY workflows workflows
COPY activities activities
COPY docs docs
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts
# The service has its own copy of the packages' code in dist; these are links into folders that stay here.
RUN rm -rf node_modules/@countersign
# What the compiler made is for tests and benches: the command has its own copy, in main.js and dist/program.
RUN find dist/src -mindepth 1 -type d -prune -exec rm -r {} + && rm -r dist/activities dist/workflows dist/packages
# Temporal's native part comes for every platform; the image runs on its own.
RUN cd node_modules/@temporalio/core-bridge/releases && ls | grep -v "^$(uname -m)-unknown-linux-gnu$" | xargs rm -rf

FROM node:24.18.0-bookworm-slim
ARG VERSION=latest
ARG REVISION=
LABEL org.opencontainers.image.title="Countersign" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
ENV NODE_ENV=production HOST=0.0.0.0 LOG_FORMAT=json MALLOC_TRIM_THRESHOLD_=1048576
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The service says it with its version.
RUN printf '%s' "$REVISION" > dist/revision
# The number of the user node: a cluster that refuses root knows no names.
USER 1000
EXPOSE 8080 9464
ENTRYPOINT ["node", "--enable-source-maps", "--v8-pool-size=1", "--max-semi-space-size=16", "--initial-old-space-size=64", "/app/dist/src/main.js"]
CMD ["api"]
