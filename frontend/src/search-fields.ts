/** Takes one text field of an address's search; empty when it is not there. Spread several into one search. */
export function optionalText<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  name: Name,
): { readonly [Key in Name]?: string } {
  const value = search[name]
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as { readonly [Key in Name]: string }) : {}
}
