{{- define "as.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $name = .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) | trunc 40 | trimSuffix "-" }}
{{- /* The name of a Service begins with a letter and has no dot, that of a release may differ. */}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}{{ fail (printf "a Service cannot be named %s: set fullnameOverride to a letter, followed by lower-case letters, digits and hyphens" $name) }}{{ end }}
{{- $name }}
{{- end }}

{{/* Labels of everything; with a component, of the parts of one process. Call with (dict "root" . "component" "agents"). */}}
{{- define "as.selector" -}}
app.kubernetes.io/name: agent-service
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- define "as.labels" -}}
{{ include "as.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "as.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{/* The processes that run, as JSON. */}}
{{- define "as.processes" -}}
{{- $running := dict }}
{{- range $name, $process := .Files.Get "files/processes.yaml" | fromYaml }}
{{- if or (ne (default "" $process.enabledBy) "webhooks") $.Values.webhooks.enabled }}{{ $_ := set $running $name $process }}{{ end }}
{{- end }}
{{- toJson $running }}
{{- end }}

{{/* The values of one process over the defaults, as JSON. */}}
{{- define "as.processValues" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (default dict (index .root.Values.processes .process))) | toJson }}
{{- end }}

{{- define "as.podSecurity" -}}
runAsNonRoot: true
{{- with .user }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- define "as.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Why the chart does not make the secret value of this key; empty if it does. */}}
{{- define "as.notGenerated" -}}
{{- if not .root.Values.secrets.generate }}secrets.generate is off
{{- else if and (eq .key "REDIS_URL") (not .root.Values.redis.bundled.enabled) }}redis.bundled.enabled is off
{{- else if and (eq .key "DATABASE_ADMIN_URL") (not .root.Values.database.bundled.enabled) }}database.bundled.enabled is off
{{- else if and (hasSuffix "_DATABASE_URL" .key) (include "as.hasServiceUrls" .root) }}secrets.existing has the URL of one service, and each needs its own
{{- end }}
{{- end }}

{{/* Reads a secret value: where the operator has it, else in the generated Secret. Call with root, name (of the variable) and key (SERVICE_SECRET …). */}}
{{- define "as.secretVariable" -}}
{{- $existing := index .root.Values.secrets.existing .key }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      {{- if $existing }}
      name: {{ $existing.secret }}
      key: {{ default .key $existing.key }}
      {{- else }}
      {{- with include "as.notGenerated" . }}{{ fail (printf "%s: name the Secret with %s in secrets.existing.%s" . $.key $.key) }}{{ end }}
      name: {{ include "as.name" .root }}-secrets
      key: {{ .key }}
      {{- end }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}

{{/* The URLs that the operator may give for the services. */}}
{{- define "as.serviceUrls" -}}
["IDENTITY_DATABASE_URL", "IDENTITY_DATABASE_OWNER_URL", "CREDITS_DATABASE_URL", "AGENTS_DATABASE_URL", "WEBHOOKS_DATABASE_URL"]
{{- end }}
{{/* True, as text, if the operator gives one of them: then the chart makes none. */}}
{{- define "as.hasServiceUrls" -}}
{{- range include "as.serviceUrls" . | fromJsonArray }}{{ if hasKey $.Values.secrets.existing . }}true{{ end }}{{ end }}
{{- end }}

{{- define "as.grpcTls" -}}
{{- if eq .root.Values.grpc.tls.mode "none" }}
- { name: GRPC_ALLOW_PLAINTEXT, value: 'true' }
{{- else }}
- { name: GRPC_TLS_CERT_FILE, value: /tls/tls.crt }
- { name: GRPC_TLS_KEY_FILE, value: /tls/tls.key }
- { name: GRPC_TLS_CA_FILE, value: /tls/ca.crt }
{{- end }}
{{- end }}

{{/* The address of each service in the list. */}}
{{- define "as.addresses" -}}
{{- $root := .root }}
{{- range .services }}
{{- if or (ne . "webhooks") $root.Values.webhooks.enabled }}
- { name: {{ upper . }}_ADDRESS, value: "dns:///{{ include "as.name" $root }}-{{ . }}:50051" }
{{- end }}
{{- end }}
{{- end }}

{{- define "as.trustedVariable" -}}
{{- if .Values.trustedCertificates.configMap }}
- { name: NODE_EXTRA_CA_CERTS, value: /trusted/{{ .Values.trustedCertificates.key }} }
{{- end }}
{{- end }}
{{- define "as.mounts" -}}
{{- if ne .root.Values.grpc.tls.mode "none" }}
- { name: tls, mountPath: /tls, readOnly: true }
{{- end }}
{{- if .root.Values.trustedCertificates.configMap }}
- { name: trusted, mountPath: /trusted, readOnly: true }
{{- end }}
{{- end }}
{{- define "as.volumes" -}}
{{- if ne .root.Values.grpc.tls.mode "none" }}
- { name: tls, secret: { secretName: {{ include "as.name" .root }}-tls-{{ .component }}, defaultMode: 0440 } }
{{- end }}
{{- if .root.Values.trustedCertificates.configMap }}
- { name: trusted, configMap: { name: {{ .root.Values.trustedCertificates.configMap }} } }
{{- end }}
{{- end }}

{{/* Where the pods of a process may run, from its values. */}}
{{- define "as.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The settings that are the same in every pod of the image. */}}
{{- define "as.podSpec" -}}
serviceAccountName: {{ include "as.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "as.podSecurity" (dict "user" .root.Values.image.user) | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "as.container" -}}
image: {{ include "as.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- include "as.containerSecurity" . | nindent 2 }}
{{- end }}

{{/* The settings that the command line of the operator needs. */}}
{{- define "as.operatorVariables" -}}
{{- include "as.secretVariable" (dict "root" . "name" "SERVICE_SECRET" "key" "SERVICE_SECRET") }}
{{- include "as.grpcTls" (dict "root" .) }}
{{- include "as.addresses" (dict "root" . "services" (list "identity" "credits" "agents" "webhooks")) }}
{{- with .Values.portalUrl }}
- { name: PORTAL_URL, value: {{ . | quote }} }
{{- end }}
{{- include "as.trustedVariable" . }}
{{- end }}

{{/* The way of a NetworkPolicy to name servers. Those of OpenShift are pods that listen on 5353, and a policy sees the port of the pod. */}}
{{- define "as.toNames" -}}
- ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }, { port: 5353, protocol: UDP }, { port: 5353, protocol: TCP }]
{{- end }}

{{/* The way of a NetworkPolicy to the database, and to the pooler before it. */}}
{{- define "as.toDatabase" -}}
{{- $outside := list }}
{{- if .Values.database.bundled.enabled }}
- ports: [{ port: 5432 }]
  to: [{ podSelector: { matchLabels: { app.kubernetes.io/instance: {{ .Release.Name | quote }}, app.kubernetes.io/component: postgres } } }]
{{- else }}{{ $outside = list .Values.database.external.port }}{{ end }}
{{- with .Values.database.pooler }}{{ $outside = append $outside (splitList ":" . | last) }}{{ end }}
{{- with $outside }}
- ports: [{{ range $index, $port := . }}{{ if $index }}, {{ end }}{ port: {{ $port }} }{{ end }}]
  {{- with $.Values.networkPolicies.databaseTo }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
