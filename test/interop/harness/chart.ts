import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadAllYaml } from '@kubernetes/client-node'
import { expect } from 'vitest'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { REPOSITORY } from './environment.ts'

const HELM = process.env['LOCKHOUSE_HELM']
if (!HELM) {
  // CI must not skip it because of a missing tool
  if (process.env['CI']) throw new Error('LOCKHOUSE_HELM is not set: scripts/setup/helm.sh')
  console.warn('The chart is not tested: LOCKHOUSE_HELM names no helm (scripts/setup/helm.sh)')
}
export const hasHelm = HELM !== undefined && existsSync(HELM)
export const CHART = join(REPOSITORY, 'deploy/chart')
/** Without a cluster, helm assumes an old one. */
export const KUBERNETES = ['--kube-version', '1.31.0']
export const DIGEST = `sha256:${'a'.repeat(64)}`

/** Runs helm and waits for it. */
export function helm(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(HELM ?? '', args, { encoding: 'utf8' })
  return { status, out: stdout, err: stderr }
}

/** Arguments of helm for values such as `a.b=c`, besides the image's digest. */
export const values = (set: readonly string[]) =>
  [`image.digest=${DIGEST}`, ...set].flatMap((value) => ['--set', value])

/** The objects that the chart makes of these values, as a release in the namespace `lakes`. */
export function render(set: readonly string[], release = 'lake'): ApiObject[] {
  const { status, out, err } = helm('template', release, CHART, '--namespace', 'lakes', ...KUBERNETES, ...values(set))
  expect(status, err).toBe(0)
  return loadAllYaml(out).filter((object: unknown) => object !== null && object !== undefined) as ApiObject[]
}
