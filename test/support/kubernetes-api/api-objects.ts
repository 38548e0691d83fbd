/** An object of the API as JSON; tests look into it freely. */
export interface ApiObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    namespace: string
    uid: string
    resourceVersion: string
    creationTimestamp: string
    deletionTimestamp?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    ownerReferences?: { kind: string; name: string; uid: string }[]
  }
  // oxlint-disable-next-line typescript/no-explicit-any -- the shape depends on the kind
  [key: string]: any
}

/** Kinds of the API that the server knows, by their resource. */
export const KINDS: Readonly<Record<string, string>> = {
  pods: 'Pod',
  services: 'Service',
  secrets: 'Secret',
  configmaps: 'ConfigMap',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  events: 'Event',
}

/** An answer that is no object: Kubernetes' `Status`. */
export class ApiStatus extends Error {
  readonly status: number
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, reason: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.reason = reason
    this.headers = headers
  }

  toJson(): object {
    const { status: code, reason, message } = this
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  }
}

/** Whether labels are what a selector such as `a=b,c` asks for. */
export function matchesLabels(object: ApiObject, selector: string | null): boolean {
  const labels = object.metadata.labels ?? {}
  return (selector ?? '')
    .split(',')
    .filter((part) => part !== '')
    .every((part) => {
      const [key = '', value] = part.split('=')
      return value === undefined ? key in labels : labels[key] === value
    })
}

/** Whether fields are what a selector such as `involvedObject.name=x` asks for. */
export function matchesFields(object: ApiObject, selector: string | null): boolean {
  return (selector ?? '')
    .split(',')
    .filter((part) => part !== '')
    .every((part) => {
      const [path = '', value] = part.split('=')
      // oxlint-disable-next-line typescript/no-explicit-any -- walks into any kind
      const found = path.split('.').reduce<any>((inside, key) => inside?.[key], object)
      return String(found ?? '') === value
    })
}
