/** Parameter values of the route matrix: well-formed, but of nothing that exists. */
export const PATH_VALUES: Readonly<Record<string, string>> = {
  table_name: 'no.such',
  operation_id: 'op-none',
  token_id: 'tok-none',
  def_id: 'def-none',
  ver_id: 'ver-none',
  environment: 'qa',
  a: 'ver-none',
  b: 'ver-none',
  req_id: 'pr-none',
  pipeline_id: 'pipe-none',
  chat_id: 'chat-none',
  action_id: 'act-none',
  policy_id: 'pol-none',
  alert_id: 'alr-none',
  quarantine_id: 'qua-none',
  catalog_name: 'no-such-catalog',
}

/** A path of the route table with its parameters filled; throws when one has no value in {@link PATH_VALUES}. */
export function concretePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = PATH_VALUES[name]
    if (value === undefined) throw new Error(`route-probes.ts has no value for {${name}} of ${path}`)
    return value
  })
}
