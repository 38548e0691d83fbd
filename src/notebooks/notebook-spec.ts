/** Everything that one user's notebook is made from. */
export interface NotebookSpec {
  readonly user: string
  /** The pod's name; see `notebookName`. */
  readonly name: string
  /** Tells the parts of this pod from those of the user's earlier ones: 8 hex digits. */
  readonly session: string
  /** The URL path of the server, such as `/notebook/ana/`. */
  readonly basePath: string
  readonly settings: NotebookSettings
  /** What the notebook's user finds in the environment; see {@link lakeEnvironment}. */
  readonly lake: LakeCoordinates
}

/** What all notebooks have in common. Sizes are Kubernetes quantities, times are ms. */
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
  /** Undefined: files go with the pod. */
  readonly volume: { readonly size: string; readonly storageClass: string | undefined } | undefined
  /** A claim with the warehouse, mounted for reading where the warehouse is for the service. */
  readonly warehouseClaim: string | undefined
  readonly idleMs: number
  readonly placement: PodPlacement
}

/** Where pods run, and as whom. */
export interface PodPlacement {
  /** Names of the secrets with which images are pulled. */
  readonly pullSecrets: readonly string[]
  /** Labels that a node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly tolerations: readonly PodToleration[]
  /** Undefined: the cluster's default. */
  readonly priorityClass: string | undefined
  /** Undefined: the cluster chooses the ids. */
  readonly runAs: { readonly user: number; readonly group: number } | undefined
}

/** A taint that does not keep a pod from a node; without a value, whatever its value is. */
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
  /** The catalog itself, which PyIceberg can open; undefined when a pod cannot, as with a file on the service's disk. */
  readonly catalogUri: string | undefined
  /** Location of the warehouse. */
  readonly warehouse: string
}

export const NOTEBOOK_PORT = 8888

/** Where the user's files are in the container, as in Jupyter's own images. */
export const WORK_FOLDER = '/home/jovyan/work'

/** Labels and annotations of everything that belongs to notebooks. */
export const LABELS = {
  /** On all objects; watches and network policies select by it. */
  managed: { 'app.kubernetes.io/managed-by': 'lockhouse', 'app.kubernetes.io/component': 'notebook' },
  /** The pod's name, by which its service finds it. */
  name: 'lockhouse/notebook',
  session: 'lockhouse/session',
} as const

export const ANNOTATIONS = {
  /** The user, as the service knows it: labels cannot hold every name. */
  user: 'lockhouse/user',
} as const

/** Label selector of the pods of notebooks. */
export const NOTEBOOK_SELECTOR = Object.entries(LABELS.managed)
  .map(([key, value]) => `${key}=${value}`)
  .join(',')

/** Entries of a notebook's secrets. */
export const SECRET_KEYS = {
  /** Jupyter's own token, which the proxy presents. */
  jupyter: 'jupyter-token',
  catalogUri: 'catalog-uri',
  /** The Lockhouse token of the notebook, its id, by which it is ended, and when it ends by itself. */
  lake: 'token',
  lakeId: 'token-id',
  lakeExpires: 'token-expires-at',
} as const

/** Entry of the config map, and the file that is made of it in the user's folder. */
export const FIRST_NOTEBOOK = { key: 'start-here.ipynb', file: 'Start here.ipynb' } as const
