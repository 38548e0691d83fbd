import type { V1ConfigMap, V1ObjectMeta, V1PersistentVolumeClaim, V1Secret, V1Service } from '@kubernetes/client-node'
import type { ClusterPod } from './cluster-pod.ts'
import { lakeSecretName, sessionName } from './names.ts'
import { ANNOTATIONS, FIRST_NOTEBOOK, LABELS, NOTEBOOK_PORT, type NotebookSpec, SECRET_KEYS } from './spec.ts'

type Named = Pick<NotebookSpec, 'name' | 'session'>

/** Labels of everything that belongs to one pod. */
export function notebookLabels({ name, session }: Named): Record<string, string> {
  return { ...LABELS.managed, [LABELS.name]: name, [LABELS.session]: session }
}

/** Metadata of an object owned by a pod: the cluster deletes it with the pod. */
function ownedBy(
  pod: Pick<ClusterPod, 'name' | 'uid'>,
  named: Named,
  name = sessionName(named.name, named.session),
): V1ObjectMeta {
  return {
    name,
    labels: notebookLabels(named),
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid, controller: true }],
  }
}

/** The address under which the proxy reaches the notebook. */
export function notebookService(pod: Pick<ClusterPod, 'name' | 'uid'>, named: Named): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedBy(pod, named),
    spec: {
      type: 'ClusterIP',
      selector: notebookLabels(named),
      ports: [{ name: 'http', port: NOTEBOOK_PORT, targetPort: 'notebook-port', protocol: 'TCP' }],
    },
  }
}

/** Contents of a notebook's secret. */
export interface NotebookSecrets {
  readonly jupyterToken: string
  readonly catalogUri: string | undefined
}

/** The secret of a notebook; the pod does not start before it exists. */
export function notebookSecret(
  pod: Pick<ClusterPod, 'name' | 'uid'>,
  named: Named,
  { jupyterToken, catalogUri }: NotebookSecrets,
): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedBy(pod, named),
    immutable: true, // the server reads it once, at its start
    type: 'Opaque',
    stringData: {
      [SECRET_KEYS.jupyter]: jupyterToken,
      ...(catalogUri === undefined ? {} : { [SECRET_KEYS.catalogUri]: catalogUri }),
    },
  }
}

/** A Lockhouse token for a notebook. */
export interface LakeToken {
  readonly id: string
  readonly token: string
  /** RFC 3339. */
  readonly expiresAt: string
}

/** The Lockhouse token of a notebook; mounted as a file, which is updated soon after the secret is replaced. */
export function lakeSecret(
  pod: Pick<ClusterPod, 'name' | 'uid'>,
  named: Named,
  { id, token, expiresAt }: LakeToken,
): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedBy(pod, named, lakeSecretName(named.name, named.session)),
    type: 'Opaque',
    stringData: {
      [SECRET_KEYS.lake]: token,
      [SECRET_KEYS.lakeId]: id,
      [SECRET_KEYS.lakeExpires]: expiresAt,
    },
  }
}

/** Config map with the initial notebook of a new user. */
export function firstNotebookMap(pod: Pick<ClusterPod, 'name' | 'uid'>, named: Named, content: string): V1ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedBy(pod, named),
    immutable: true,
    data: { [FIRST_NOTEBOOK.key]: content },
  }
}

/** The user's volume; it is kept when the pod is deleted. */
export function notebookVolumeClaim({ name, user, settings }: NotebookSpec): V1PersistentVolumeClaim | undefined {
  if (!settings.volume) return undefined
  const { size, storageClass } = settings.volume
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      labels: { ...LABELS.managed, [LABELS.name]: name },
      annotations: { [ANNOTATIONS.user]: user },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
    },
  }
}
