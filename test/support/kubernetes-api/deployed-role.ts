import { readFileSync } from 'node:fs'
import { loadAllYaml } from '@kubernetes/client-node'
import type { AccessRule } from './access-rules.ts'

const ROLE_FILE = new URL('../../../deploy/kubernetes/20-notebook-access.yaml', import.meta.url)

/** The rules of the role under `deploy/kubernetes/`: tests run with what a deployment has. */
export function deployedRules(): readonly AccessRule[] {
  const objects = loadAllYaml(readFileSync(ROLE_FILE, 'utf8'))
  const role = objects.find(({ kind }) => kind === 'Role') as { readonly rules?: readonly AccessRule[] } | undefined
  if (!role?.rules) throw new Error('there is no role in deploy/kubernetes')
  return role.rules
}
