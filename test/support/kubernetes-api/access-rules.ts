/** A rule of a `Role`, for the core API group. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** Whether rules allow something in the namespace that they are bound in (RBAC: what no rule allows is refused). */
export function allows(rules: readonly AccessRule[], verb: string, resource: string, name?: string): boolean {
  return rules.some((rule) => {
    const isNamed = rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name))
    return rule.apiGroups.includes('') && has(rule.resources, resource) && has(rule.verbs, verb) && isNamed
  })
}

function has(list: readonly string[], value: string): boolean {
  return list.includes(value) || list.includes('*')
}
