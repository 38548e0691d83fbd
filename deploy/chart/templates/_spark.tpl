{{/* Labels of the pods of Spark: the server and, with the operator, its executors. */}}
{{- define "lockhouse.spark.selector" -}}
app.kubernetes.io/name: lockhouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: spark
{{- end -}}

{{- define "lockhouse.spark.labels" -}}
{{ include "lockhouse.spark.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lockhouse.spark.name" -}}
{{ include "lockhouse.name" . }}-spark
{{- end -}}

{{/* The operator names the service of a server after its resource. */}}
{{- define "lockhouse.spark.host" -}}
{{ include "lockhouse.spark.name" . }}{{ if eq .Values.spark.kind "operator" }}-server{{ end }}
{{- end -}}

{{- define "lockhouse.spark.image" -}}
{{ printf "%s@%s" .Values.spark.image.repository .Values.spark.image.digest }}
{{- end -}}

{{/* Properties of Spark: those of the chart, unless spark.conf has others. */}}
{{- define "lockhouse.spark.conf" -}}
{{- $catalog := printf "spark.sql.catalog.%s" .Values.spark.catalog -}}
{{- $conf := dict
  "spark.connect.session.manager.defaultSessionTimeout" "24h"
  "spark.jars.ivy" "/scratch/ivy"
  "spark.local.dir" "/scratch/local"
  "spark.sql.catalogImplementation" "in-memory"
  "spark.sql.warehouse.dir" "/scratch/warehouse"
  "spark.ui.enabled" "false"
  $catalog "org.apache.iceberg.spark.SparkCatalog"
  (printf "%s.type" $catalog) "rest"
  (printf "%s.uri" $catalog) (printf "http://%s:3000%s/iceberg" (include "lockhouse.name" .) .Values.basePath)
  (printf "%s.cache-enabled" $catalog) "false"
-}}
{{- with .Values.spark.catalogToken.secret }}{{ $_ := set $conf (printf "%s.token" $catalog) "$(LOCKHOUSE_TOKEN)" }}{{ end -}}
{{- with .Values.spark.packages }}{{ $_ := set $conf "spark.jars.packages" (join "," .) }}{{ end -}}
{{- range $name, $value := .Values.spark.conf }}{{ $_ := set $conf $name (include "lockhouse.text" $value) }}{{ end -}}
{{- $conf | toYaml -}}
{{- end -}}

{{- define "lockhouse.spark.podSecurity" -}}
runAsNonRoot: true
runAsUser: 185
runAsGroup: 185
fsGroup: 185
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "lockhouse.spark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "lockhouse.spark.env" -}}
- name: SPARK_CONNECT_AUTHENTICATE_TOKEN
  valueFrom: { secretKeyRef: { name: {{ .Values.spark.tokenSecret | quote }}, key: {{ .Values.spark.tokenKey | quote }} } }
{{- with .Values.spark.catalogToken }}{{- if .secret }}
- name: LOCKHOUSE_TOKEN
  valueFrom: { secretKeyRef: { name: {{ .secret | quote }}, key: {{ .key | quote }} } }
{{- end }}{{- end }}
- { name: SPARK_LOG_DIR, value: /scratch/logs }
{{- end -}}

{{- define "lockhouse.spark.mounts" -}}
- { name: scratch, mountPath: /scratch }
- { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "lockhouse.spark.volumes" -}}
- name: scratch
  emptyDir:
    sizeLimit: {{ .Values.spark.scratch }}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- end -}}

{{/* What all pods of Spark have besides their containers. */}}
{{- define "lockhouse.spark.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A value as text: helm reads numbers of a file as floats. */}}
{{- define "lockhouse.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}
