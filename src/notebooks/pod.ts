import type {
  V1Container,
  V1EnvVar,
  V1Pod,
  V1PodSpec,
  V1Probe,
  V1SecurityContext,
  V1Toleration,
  V1Volume,
} from '@kubernetes/client-node'
import { notebookLabels } from './objects.ts'
import { lakeSecretName, sessionName } from './names.ts'
import {
  ANNOTATIONS,
  FIRST_NOTEBOOK,
  NOTEBOOK_PORT,
  type NotebookSpec,
  type PodPlacement,
  type PodToleration,
  SECRET_KEYS,
  WORK_FOLDER,
} from './spec.ts'

const TOKEN_FOLDER = '/var/run/lockhouse'
const FIRST_FOLDER = '/opt/lockhouse'

/** Requirements of the `restricted` policy for a container (Kubernetes Pod Security Standards). */
const CONFINED: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  privileged: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

/** Space for what a notebook writes besides the user's files: logs, caches. */
const STORAGE_REQUEST = '128Mi'

const MINUTE_MS = 60_000

/**
 * The pod of a notebook: no permissions on the cluster or the node, limits on all resources, and its secrets in a
 * separate secret, because everyone who may list pods can read the pod's specification.
 */
export function notebookPod(spec: NotebookSpec, image: string): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: spec.name,
      labels: notebookLabels(spec),
      annotations: { [ANNOTATIONS.user]: spec.user },
    },
    spec: {
      restartPolicy: 'OnFailure',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 5,
      ...placement(spec.settings.placement),
      initContainers: [firstNotebookContainer(spec, image)],
      containers: [notebookContainer(spec, image)],
      volumes: volumes(spec),
    },
  }
}

function placement({ pullSecrets, nodeSelector, tolerations, priorityClass, runAs }: PodPlacement): Partial<V1PodSpec> {
  return {
    securityContext: {
      runAsNonRoot: true,
      ...(runAs === undefined ? {} : { runAsUser: runAs.user, runAsGroup: runAs.group, fsGroup: runAs.group }),
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...nodeSelector } }),
    ...(tolerations.length === 0 ? {} : { tolerations: tolerations.map(toleration) }),
    ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass }),
  }
}

function toleration({ key, value, effect }: PodToleration): V1Toleration {
  return value === undefined ? { key, operator: 'Exists', effect } : { key, operator: 'Equal', value, effect }
}

/** Copies the first notebook into the user's folder, unless it exists already. */
function firstNotebookContainer({ settings: { resources } }: NotebookSpec, image: string): V1Container {
  const target = `${WORK_FOLDER}/${FIRST_NOTEBOOK.file}`
  return {
    name: 'first-notebook',
    image,
    command: ['/bin/sh', '-c', `[ -e "${target}" ] || cp "${FIRST_FOLDER}/${FIRST_NOTEBOOK.key}" "${target}"`],
    securityContext: CONFINED,
    // A pod's request is the maximum over its init containers and its containers: this does not increase it.
    // Every limit has a request: where one is missing, the cluster uses the limit as the request.
    resources: {
      requests: { cpu: resources.cpuRequest, memory: resources.memoryRequest, 'ephemeral-storage': STORAGE_REQUEST },
      limits: {
        cpu: resources.cpuLimit,
        memory: resources.memoryLimit,
        'ephemeral-storage': resources.storageLimit,
      },
    },
    volumeMounts: [
      { name: 'work', mountPath: WORK_FOLDER },
      { name: 'first-notebook', mountPath: FIRST_FOLDER, readOnly: true },
    ],
  }
}

function notebookContainer(spec: NotebookSpec, image: string): V1Container {
  const { settings, lake, basePath } = spec
  const { resources } = settings
  return {
    name: 'notebook',
    image,
    args: serverArguments(spec),
    env: environment(spec),
    ports: [{ name: 'notebook-port', containerPort: NOTEBOOK_PORT }],
    securityContext: CONFINED,
    resources: {
      requests: { cpu: resources.cpuRequest, memory: resources.memoryRequest, 'ephemeral-storage': STORAGE_REQUEST },
      limits: {
        cpu: resources.cpuLimit,
        memory: resources.memoryLimit,
        'ephemeral-storage': resources.storageLimit,
      },
    },
    // This endpoint needs no token, and responds only if the server uses the right base path.
    startupProbe: probe(basePath, { periodSeconds: 2, failureThreshold: 150 }),
    readinessProbe: probe(basePath, { periodSeconds: 10, failureThreshold: 3 }),
    volumeMounts: [
      { name: 'work', mountPath: WORK_FOLDER },
      ...(lake.apiUrl === undefined ? [] : [{ name: 'token', mountPath: TOKEN_FOLDER, readOnly: true }]),
      ...(warehouseFolder(spec) === undefined
        ? []
        : [{ name: 'warehouse', mountPath: warehouseFolder(spec) ?? '', readOnly: true }]),
    ],
  }
}

function probe(basePath: string, timing: { periodSeconds: number; failureThreshold: number }): V1Probe {
  return { httpGet: { path: `${basePath}api`, port: NOTEBOOK_PORT }, timeoutSeconds: 5, ...timing }
}

/** Arguments of the server. The service stops idle notebooks itself; the timeouts apply when the service is down. */
function serverArguments({ basePath, settings }: NotebookSpec): string[] {
  const seconds = Math.round((settings.idleMs + 15 * MINUTE_MS) / 1000)
  return [
    'start-notebook.py',
    `--ServerApp.base_url=${basePath}`,
    '--ServerApp.ip=0.0.0.0',
    `--ServerApp.port=${NOTEBOOK_PORT}`,
    '--ServerApp.allow_remote_access=True',
    '--ServerApp.trust_xheaders=True',
    `--ServerApp.root_dir=${WORK_FOLDER}`,
    // With the rate limit, output is cut at 1 MB/s; the proxy already applies backpressure.
    '--ZMQChannelsWebsocketConnection.limit_rate=False',
    `--ServerApp.shutdown_no_activity_timeout=${seconds}`,
    `--MappingKernelManager.cull_idle_timeout=${seconds}`,
    '--MappingKernelManager.cull_interval=300',
    '--MappingKernelManager.cull_connected=True',
  ]
}

function environment(spec: NotebookSpec): V1EnvVar[] {
  const { lake } = spec
  const secretName = sessionName(spec.name, spec.session)
  return [
    { name: 'JUPYTER_TOKEN', valueFrom: { secretKeyRef: { name: secretName, key: SECRET_KEYS.jupyter } } },
    literal('LAKE_USER', spec.user),
    literal('LAKE_CATALOG_NAME', lake.catalogName),
    literal('LAKE_CATALOG_TYPE', lake.catalogType),
    literal('LAKE_WAREHOUSE', lake.warehouse),
    ...(lake.apiUrl === undefined
      ? []
      : [literal('LAKE_API_URL', lake.apiUrl), literal('LAKE_TOKEN_FILE', `${TOKEN_FOLDER}/token`)]),
    ...(lake.catalogUri === undefined
      ? []
      : [
          {
            name: 'LAKE_CATALOG_URI',
            valueFrom: { secretKeyRef: { name: secretName, key: SECRET_KEYS.catalogUri } },
          },
        ]),
  ]
}

/** A variable with exactly this value: the kubelet expands `$(NAME)`, so `$` is escaped as `$$`. */
function literal(name: string, value: string): V1EnvVar {
  return { name, value: value.replaceAll('$', '$$$$') }
}

function volumes(spec: NotebookSpec): V1Volume[] {
  const { name, session, settings, lake } = spec
  const own = sessionName(name, session)
  return [
    settings.volume
      ? { name: 'work', persistentVolumeClaim: { claimName: name } }
      : { name: 'work', emptyDir: { sizeLimit: settings.resources.storageLimit } },
    { name: 'first-notebook', configMap: { name: own } },
    ...(lake.apiUrl === undefined
      ? []
      : [
          {
            name: 'token',
            secret: {
              secretName: lakeSecretName(name, session),
              defaultMode: 0o440,
              items: [{ key: SECRET_KEYS.lake, path: 'token' }],
            },
          },
        ]),
    ...(warehouseFolder(spec) === undefined
      ? []
      : [{ name: 'warehouse', persistentVolumeClaim: { claimName: settings.warehouseClaim ?? '', readOnly: true } }]),
  ]
}

/** Mount path of the warehouse: the same as in the service, because tables use absolute paths. */
function warehouseFolder({ settings, lake }: NotebookSpec): string | undefined {
  const folder = /^(?:file:\/\/)?(\/[^:]+?)\/*$/.exec(lake.warehouse)?.[1]
  return settings.warehouseClaim === undefined ? undefined : folder
}
