/** Why an object cannot be changed on the page: the files of its owner describe it. Undefined: it can be changed. */
export function managedNotice({ managed_by: owner }: { readonly managed_by: string | null }): string | undefined {
  return owner === null ? undefined : `Managed by ${owner}. Change it there.`
}
