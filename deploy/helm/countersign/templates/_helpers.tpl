{{- define "countersign.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The tag without a digest. */}}
{{- define "countersign.buildId" -}}
{{ include "countersign.tag" . | splitList "@" | first }}
{{- end }}

{{- /* The end of a long tag is what differs between builds. */}}
{{- define "countersign.workerName" -}}
{{ .Release.Name }}-worker
{{- if .Values.worker.byBuildId }}-{{ regexReplaceAll "[^a-z0-9]+" (include "countersign.buildId" . | lower) "-" | trunc -30 | trimAll "-" }}{{ end }}
{{- end }}

{{- /* A label's value has at most 63 letters: a long name ends in its digest. */}}
{{- define "countersign.buildLabel" -}}
{{- $name := include "countersign.workerName" . -}}
{{- if gt (len $name) 63 }}{{ $name | trunc 52 | trimAll "-." }}-{{ sha256sum $name | trunc 10 }}{{ else }}{{ $name }}{{ end }}
{{- end }}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ include "countersign.buildId" . | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Labels and annotations that an installation gives to the pods of a role; those of the chart win. */}}
{{- define "countersign.podMetadata" -}}
{{- $own := dict "app.kubernetes.io/component" .component -}}
{{- with .build }}{{ $_ := set $own "countersign/build" . }}{{ end -}}
{{- $labels := merge $own (include "countersign.labels" .root | fromYaml) .root.Values.podLabels -}}
labels: {{- toYaml $labels | nindent 2 }}
{{- with .root.Values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The pod of a role: role, container (what its container has beside), owner (whether it has the owner's secrets). */}}
{{- define "countersign.pod" -}}
{{- $values := .root.Values -}}
{{- $own := ternary $values.secrets.owner.keys list .owner -}}
{{- $audit := ternary list $values.secrets.audit.keys (eq .role "api") -}}
{{- $shared := list -}}
{{- range $values.secrets.service.keys }}{{ if not (has . $own) }}{{ $shared = append $shared . }}{{ end }}{{ end -}}
{{- with $values.serviceAccount }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
# Node.js as process 1 would not hear SIGTERM before its modules are loaded: here another container is process 1.
shareProcessNamespace: true
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- $placed := get $values .role | default dict -}}
{{- with $placed.nodeSelector | default $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $placed.tolerations | default $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $placed.affinity | default $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and (not .owner) $values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else if not .owner }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "countersign.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
{{- end }}
containers:
  - name: {{ .role }}
    image: "{{ $values.image.repository }}:{{ include "countersign.tag" .root }}"
    args: [{{ .role }}]
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    env:
      - { name: NODE_ENV, value: production }
      - { name: PORT, value: "8080" }
      - { name: METRICS_PORT, value: "9464" }
      {{- range $name, $value := $values.settings }}
      {{- if $value }}
      - { name: {{ $name }}, value: {{ $value | quote }} }
      {{- end }}
      {{- end }}
      {{- if and (eq .role "worker") $values.worker.byBuildId }}
      - { name: WORKER_BUILD_ID, value: {{ include "countersign.buildId" .root | quote }} }
      {{- end }}
      {{- range concat $shared $audit $own }}
      - { name: {{ . }}_FILE, value: /secrets/{{ . }} }
      {{- end }}
    volumeMounts:
      - { name: secrets, mountPath: /secrets, readOnly: true }
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- .container | nindent 4 }}
volumes:
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        - secret:
            name: {{ $values.secrets.service.name }}
            items:
              {{- range concat $shared $values.secrets.service.files }}
              - { key: {{ . }}, path: {{ . }} }
              {{- end }}
        {{- if $audit }}
        - secret:
            name: {{ $values.secrets.audit.name }}
            items:
              {{- range $audit }}
              - { key: {{ . }}, path: {{ . }} }
              {{- end }}
        {{- end }}
        {{- if .owner }}
        - secret:
            name: {{ $values.secrets.owner.name }}
            items:
              {{- range $own }}
              - { key: {{ . }}, path: {{ . }} }
              {{- end }}
        {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* What every process must reach: names, Postgres and Temporal. */}}
{{- define "countersign.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- range list .Values.networkPolicy.postgres .Values.networkPolicy.temporal }}
- ports:
    - { port: {{ .port }}, protocol: TCP }
  {{- with .to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.networkPolicy.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}
