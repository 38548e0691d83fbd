/** Everything needed to create a user's notebook. */
export interface NotebookSpec {
  readonly user: string
  /** The pod's name; see `notebookName`. */
  readonly name: string
  /** Distinguishes the objects of this pod from those of the user's earlier pods: 8 hex digits. */
  readonly session: string
  /** The URL path of the server, such as `/notebook/ana/`. */
  readonly basePath: string
  readonly settings: NotebookSettings
  /** Addresses of the lakehouse for the environment variables of the notebook. */
  readonly lake: LakeCoordinates
}

/** Settings of all notebooks. Sizes are Kubernetes quantities, times are ms. */
export interface NotebookSettings {
  /** Images that may run; the first is the default. */
  readonly images: readonly string[]
  readonly resources: {
    readonly cpuRequest: string
    readonly cpuLimit: string
    readonly memoryRequest: string
    readonly memoryLimit: string
    readonly storageLimit: string
  }
  /** Undefined: the user's files are deleted with the pod. */
  readonly volume: { readonly size: string; readonly storageClass: string | undefined } | undefined
  /** A claim with the warehouse, mounted read-only at the warehouse's own path. */
  readonly warehouseClaim: string | undefined
  readonly idleMs: number
  readonly placement: PodPlacement
}

/** Where pods run, and as which user. */
export interface PodPlacement {
  /** Names of the secrets for pulling images. */
  readonly pullSecrets: readonly string[]
  /** Labels that a node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly tolerations: readonly PodToleration[]
  /** Undefined: the cluster's default. */
  readonly priorityClass: string | undefined
  /** Undefined: the cluster chooses the ids. */
  readonly runAs: { readonly user: number; readonly group: number } | undefined
}

/** A tolerated taint; without a value, any value is tolerated. */
export interface PodToleration {
  readonly key: string
  readonly value: string | undefined
  readonly effect: string
}

/** How the lakehouse is reached from a pod. */
export interface LakeCoordinates {
  /** This service; undefined when pods cannot reach it. */
  readonly apiUrl: string | undefined
  readonly catalogName: string
  readonly catalogType: string
  /** Address of the catalog for PyIceberg; undefined when pods cannot reach it, such as a file on the service. */
  readonly catalogUri: string | undefined
  /** Location of the warehouse. */
  readonly warehouse: string
}

export const NOTEBOOK_PORT = 8888

/** Folder of the user's files in the container, as in Jupyter's own images. */
export const WORK_FOLDER = '/home/jovyan/work'

/** Labels and annotations of everything that belongs to notebooks. */
export const LABELS = {
  /** On all objects; watches and network policies select by it. */
  managed: { 'app.kubernetes.io/managed-by': 'lockhouse', 'app.kubernetes.io/component': 'notebook' },
  /** The pod's name; the service selects the pod by it. */
  name: 'lockhouse/notebook',
  session: 'lockhouse/session',
} as const

export const ANNOTATIONS = {
  /** The user's full name, because labels do not allow every character. */
  user: 'lockhouse/user',
} as const

/** Label selector for notebook pods. */
export const NOTEBOOK_SELECTOR = Object.entries(LABELS.managed)
  .map(([key, value]) => `${key}=${value}`)
  .join(',')

/** Entries of a notebook's secrets. */
export const SECRET_KEYS = {
  /** Jupyter's own token, which the proxy sends. */
  jupyter: 'jupyter-token',
  catalogUri: 'catalog-uri',
  /** The Lockhouse token of the notebook, its id for revoking it, and its expiry time. */
  lake: 'token',
  lakeId: 'token-id',
  lakeExpires: 'token-expires-at',
} as const

/** Entry of the config map, and the file copied from it to the user's folder. */
export const FIRST_NOTEBOOK = { key: 'start-here.ipynb', file: 'Start here.ipynb' } as const
