import { type ApiObject, ApiStatus } from './api-objects.ts'

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/

/** Refuses what the real server refuses: 422 for names and references, 403 for what the namespace's policy forbids. */
export function refuseInvalid(resource: string, object: ApiObject): void {
  const { metadata } = object
  const name = metadata?.name ?? ''
  const longest = resource === 'services' ? 63 : 253
  const rule = resource === 'services' ? LABEL_1035 : SUBDOMAIN
  if (!rule.test(name) || name.length > longest) throw invalid(resource, name, 'metadata.name: Invalid value')
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    const bare = key.split('/').at(-1) ?? ''
    if (value.length > 63 || !LABEL_VALUE.test(value) || bare.length > 63 || !LABEL_VALUE.test(bare) || bare === '') {
      throw invalid(resource, name, `metadata.labels: Invalid value: "${value}"`)
    }
  }
  for (const key of Object.keys({ ...object['data'], ...object['stringData'] })) {
    if (!CONFIG_KEY.test(key)) throw invalid(resource, name, `data[${key}]: Invalid value`)
  }
  if (resource === 'pods') {
    refuseInvalidPod(object)
    refuseUnrestricted(object)
  }
}

function invalid(resource: string, name: string, why: string): ApiStatus {
  return new ApiStatus(422, 'Invalid', `${resource} "${name}" is invalid: ${why}`)
}

function refuseInvalidPod(pod: ApiObject): void {
  const { name } = pod.metadata
  const { containers = [], initContainers = [], volumes = [] } = pod['spec'] ?? {}
  if (containers.length === 0) throw invalid('pods', name, 'spec.containers: Required value')
  const volumeNames = new Set(volumes.map((volume: { name: string }) => volume.name))
  for (const container of [...initContainers, ...containers]) {
    if (!container.image) throw invalid('pods', name, 'spec.containers[0].image: Required value')
    for (const mount of container.volumeMounts ?? []) {
      if (!volumeNames.has(mount.name)) throw invalid('pods', name, `volumeMounts: Not found: "${mount.name}"`)
    }
    for (const variable of container.env ?? []) {
      if (!/^[A-Za-z_]\w*$/.test(variable.name)) throw invalid('pods', name, `env: Invalid value: "${variable.name}"`)
      if (variable.value !== undefined && variable.valueFrom) throw invalid('pods', name, 'env: may not have both')
    }
  }
}

/** The rules of Pod Security `restricted`, on what tests here can get wrong. */
function refuseUnrestricted(pod: ApiObject): void {
  const spec = pod['spec']
  const violations: string[] = []
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) if (spec[field]) violations.push(field)
  const allowed = ['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected']
  for (const volume of spec.volumes ?? []) {
    const kinds = Object.keys(volume).filter((key) => key !== 'name')
    if (kinds.some((kind) => kind !== 'secret' && !allowed.includes(kind))) violations.push('restricted volume types')
  }
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const own = container.securityContext ?? {}
    if (own.privileged) violations.push('privileged')
    if (own.allowPrivilegeEscalation !== false) violations.push('allowPrivilegeEscalation != false')
    if (!(own.capabilities?.drop ?? []).includes('ALL')) violations.push('unrestricted capabilities')
    if ((own.runAsNonRoot ?? spec.securityContext?.runAsNonRoot) !== true) violations.push('runAsNonRoot != true')
    if ((own.runAsUser ?? spec.securityContext?.runAsUser) === 0) violations.push('runAsUser=0')
    const profile = own.seccompProfile ?? spec.securityContext?.seccompProfile
    if (profile?.type !== 'RuntimeDefault' && profile?.type !== 'Localhost') violations.push('seccompProfile')
    if ((container.ports ?? []).some((port: { hostPort?: number }) => port.hostPort)) violations.push('hostPort')
  }
  if (violations.length === 0) return
  const why = `violates PodSecurity "restricted:latest": ${violations.join(', ')}`
  throw new ApiStatus(403, 'Forbidden', `pods "${pod.metadata.name}" is forbidden: ${why}`)
}
