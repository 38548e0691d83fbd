import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { catalogOf, catalogsQuery } from '../api/catalog-config.ts'
import { common } from '../strings/everywhere/common.ts'

interface CatalogSelectProps {
  /** The name of the chosen catalog; undefined: all catalogs. */
  readonly value: string | undefined
  readonly onChange: (catalog: string | undefined) => void
}

/** A filter by catalog; nothing while there is only one catalog and none is chosen. */
export function CatalogSelect({ value, onChange }: CatalogSelectProps) {
  const { data = [] } = useQuery(catalogsQuery)
  const names = data.map(({ name }) => name)
  if (names.length < 2 && value === undefined) return null
  const shown = value === undefined || names.includes(value) ? names : [...names, value]
  return (
    <NativeSelect
      aria-label={common.catalog}
      data={[{ value: '', label: common.allCatalogs }, ...shown]}
      value={value ?? ''}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)}
    />
  )
}

/** A test whether a table or namespace is in the chosen catalog; every name passes without a choice. */
export function useInCatalog(catalog: string | undefined): (name: string) => boolean {
  const main = useQuery(catalogsQuery).data?.find(({ is_default: isDefault }) => isDefault)?.name
  return useCallback((name) => catalog === undefined || (catalogOf(name) ?? main) === catalog, [catalog, main])
}
