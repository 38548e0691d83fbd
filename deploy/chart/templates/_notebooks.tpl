{{/* Refuses values of notebooks that cannot work. */}}
{{- define "lockhouse.notebooks.check" -}}
{{- $namespace := include "lockhouse.notebooks.namespace" . -}}
{{- with .Values.notebooks }}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" $namespace) }}{{ fail (printf "notebooks.namespace is required: %s cannot be the name of a namespace" $namespace) }}{{ end -}}
{{- if eq $namespace $.Release.Namespace }}{{ fail "notebooks.namespace must not be the namespace of the release: the service may read Secrets there by name, and notebooks run users' code" }}{{ end -}}
{{- if not .images }}{{ fail "notebooks.enabled needs notebooks.images, each named by its digest: <image>@sha256:…" }}{{ end -}}
{{- if and .volume.storageClass (not .volume.size) }}{{ fail "notebooks.volume.storageClass needs notebooks.volume.size" }}{{ end -}}
{{- if ge (int .warningMinutes) (int .idleMinutes) }}{{ fail "notebooks.warningMinutes must be less than notebooks.idleMinutes" }}{{ end -}}
{{- if and .hosts.tlsSecret (not .hosts.domain) }}{{ fail "notebooks.hosts.tlsSecret needs notebooks.hosts.domain" }}{{ end -}}
{{- if and .hosts.domain $.Values.ingress.enabled (not .hosts.tlsSecret) }}{{ fail "notebooks.hosts.domain with ingress.enabled needs notebooks.hosts.tlsSecret, a certificate for all its hosts" }}{{ end -}}
{{- if and .hosts.domain (eq (regexReplaceAll "^[^.]*\\." $.Values.host "") .hosts.domain) }}{{ fail "host must not be directly below notebooks.hosts.domain: it would be the host of a notebook" }}{{ end -}}
{{- end -}}
{{- range $name, $_ := .Values.settings }}
{{- if or (hasPrefix "NOTEBOOK_" $name) (eq $name "KUBECONFIG") }}{{ fail (printf "settings.%s: the values of notebooks replace it when notebooks.enabled is true" $name) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* With the name of the release, because several releases can be in one namespace. */}}
{{- define "lockhouse.notebooks.namespace" -}}
{{- .Values.notebooks.namespace | default (printf "%s-%s-notebooks" .Release.Namespace .Release.Name) -}}
{{- end -}}

{{- define "lockhouse.notebooks.name" -}}
{{ include "lockhouse.name" . }}-notebooks
{{- end -}}

{{/* Of the chart's objects for notebooks. */}}
{{- define "lockhouse.notebooks.labels" -}}
app.kubernetes.io/name: lockhouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: notebooks
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The labels that the service gives to the pods of notebooks (src/notebooks/spec.ts). */}}
{{- define "lockhouse.notebooks.selector" -}}
app.kubernetes.io/managed-by: lockhouse
app.kubernetes.io/component: notebook
{{- end -}}

{{/* Pods of notebooks, as a peer of a network policy elsewhere. */}}
{{- define "lockhouse.notebooks.peer" -}}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ include "lockhouse.notebooks.namespace" . }}
  podSelector:
    matchLabels: {{- include "lockhouse.notebooks.selector" . | nindent 6 }}
{{- end -}}

{{/* Settings of the service; docs/notebooks.md explains them. */}}
{{- define "lockhouse.notebooks.env" -}}
{{- with .Values.notebooks -}}
- { name: NOTEBOOKS, value: auto }
- { name: NOTEBOOK_NAMESPACE, value: {{ include "lockhouse.notebooks.namespace" $ | quote }} }
- { name: NOTEBOOK_IMAGES, value: {{ join "," .images | quote }} }
- { name: NOTEBOOK_CPU_REQUEST, value: {{ include "lockhouse.text" .resources.requests.cpu | quote }} }
- { name: NOTEBOOK_CPU_LIMIT, value: {{ include "lockhouse.text" .resources.limits.cpu | quote }} }
- { name: NOTEBOOK_MEMORY_REQUEST, value: {{ .resources.requests.memory | quote }} }
- { name: NOTEBOOK_MEMORY_LIMIT, value: {{ .resources.limits.memory | quote }} }
- { name: NOTEBOOK_STORAGE_LIMIT, value: {{ index .resources.limits "ephemeral-storage" | quote }} }
{{- with .volume.size }}
- { name: NOTEBOOK_VOLUME_SIZE, value: {{ . | quote }} }
{{- end }}
{{- with .volume.storageClass }}
- { name: NOTEBOOK_STORAGE_CLASS, value: {{ . | quote }} }
{{- end }}
- { name: NOTEBOOK_IDLE_MINUTES, value: {{ include "lockhouse.text" .idleMinutes | quote }} }
- { name: NOTEBOOK_WARNING_MINUTES, value: {{ include "lockhouse.text" .warningMinutes | quote }} }
{{- if .token.enabled }}
- { name: NOTEBOOK_LOCKHOUSE_URL, value: {{ printf "http://%s.%s.svc:3000%s" (include "lockhouse.name" $) $.Release.Namespace $.Values.basePath | quote }} }
- { name: NOTEBOOK_TOKEN_HOURS, value: {{ include "lockhouse.text" .token.hours | quote }} }
{{- end }}
{{- with .catalogUri }}{{- if .secret }}
- name: NOTEBOOK_CATALOG_URI
  valueFrom: { secretKeyRef: { name: {{ .secret | quote }}, key: {{ .key | quote }} } }
{{- end }}{{- end }}
{{- with .warehouseClaim }}
- { name: NOTEBOOK_WAREHOUSE_CLAIM, value: {{ . | quote }} }
{{- end }}
{{- if .hosts.shared }}
- { name: NOTEBOOK_ISOLATION, value: path }
{{- end }}
{{- with .hosts.domain }}
- { name: NOTEBOOK_HOST_TEMPLATE, value: {{ printf "https://{slug}.%s" . | quote }} }
{{- end }}
{{- $pullSecrets := list }}
{{- range .pullSecrets }}{{ $pullSecrets = append $pullSecrets .name }}{{ end }}
{{- with $pullSecrets }}
- { name: NOTEBOOK_PULL_SECRETS, value: {{ join "," . | quote }} }
{{- end }}
{{- $nodeLabels := list }}
{{- range $key, $value := .nodeSelector }}{{ $nodeLabels = append $nodeLabels (printf "%s=%s" $key $value) }}{{ end }}
{{- with $nodeLabels }}
- { name: NOTEBOOK_NODE_SELECTOR, value: {{ join "," . | quote }} }
{{- end }}
{{- $taints := list }}
{{- range .tolerations }}{{ $taints = append $taints (printf "%s%s:%s" .key (hasKey . "value" | ternary (printf "=%s" .value) "") .effect) }}{{ end }}
{{- with $taints }}
- { name: NOTEBOOK_TOLERATIONS, value: {{ join "," . | quote }} }
{{- end }}
{{- with .priorityClass }}
- { name: NOTEBOOK_PRIORITY_CLASS, value: {{ . | quote }} }
{{- end }}
- { name: NOTEBOOK_RUN_AS, value: {{ .runAs | quote }} }
{{- end -}}
{{- end -}}
