{{/* Refuses values that cannot work, before anything is applied. */}}
{{- define "lockhouse.check" -}}
{{- if not .Values.image.digest }}{{ fail "image.digest is required: an image is named by its digest, sha256:…" }}{{ end -}}
{{- if and (eq .Values.state "sqlite") (gt (int .Values.replicas) 1) }}{{ fail "replicas above 1 need state: postgresql; two processes cannot share one SQLite state" }}{{ end -}}
{{- if and (eq .Values.state "postgresql") (not .Values.postgresql.secret) }}{{ fail "state: postgresql needs postgresql.secret, a Secret with the address of the database and the audit key" }}{{ end -}}
{{- if and .Values.ingress.enabled (not .Values.host) }}{{ fail "ingress.enabled needs host" }}{{ end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret) }}{{ fail "serviceMonitor.enabled needs serviceMonitor.tokenSecret" }}{{ end -}}
{{- if .Values.spark.enabled }}
{{- if not .Values.spark.image.digest }}{{ fail "spark.enabled needs spark.image.digest: an image is named by its digest, sha256:…" }}{{ end -}}
{{- if not .Values.spark.tokenSecret }}{{ fail "spark.enabled needs spark.tokenSecret, a Secret with the token for Spark Connect" }}{{ end -}}
{{- range $name := list "SPARK_REMOTE" "SPARK_CATALOG" "SPARK_CONNECT_TOKEN" }}
{{- if hasKey $.Values.settings $name }}{{ fail (printf "settings.%s is set by the chart when spark.enabled is true" $name) }}{{ end -}}
{{- end -}}
{{- if and .Values.spark.embeddedMaxBytes (hasKey .Values.settings "ENGINE_EMBEDDED_MAX_BYTES") }}{{ fail "settings.ENGINE_EMBEDDED_MAX_BYTES is set by spark.embeddedMaxBytes" }}{{ end -}}
{{- end -}}
{{- if .Values.notebooks.enabled }}{{ include "lockhouse.notebooks.check" . }}{{ end -}}
{{- range $name := list "HOST" "PORT" "BASE_PATH" "LOCKHOUSE_HOME" "DATABASE_URL" "AUDIT_KEY" "LOCKHOUSE_ADMIN_TOKEN" "METRICS_TOKEN" "NOTEBOOKS" }}
{{- if hasKey $.Values.settings $name }}{{ fail (printf "settings.%s is set by the chart" $name) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "lockhouse.name" -}}
{{- if contains "lockhouse" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-lockhouse" (.Release.Name | trunc 42 | trimSuffix "-") }}{{ end -}}
{{- end -}}

{{- define "lockhouse.selector" -}}
app.kubernetes.io/name: lockhouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end -}}

{{- define "lockhouse.labels" -}}
{{ include "lockhouse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
