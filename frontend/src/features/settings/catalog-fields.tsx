import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { catalogStrings as strings } from '../../strings/settings.ts'
import { CATALOG_TYPES, type CatalogDraft, type CatalogType, isSqlite } from './catalog-form.ts'
import { PropertyRows } from './property-rows.tsx'
import classes from './settings.module.css'

interface CatalogFieldsProps {
  readonly draft: CatalogDraft
  readonly problems: ReadonlyMap<string, string>
  readonly onChange: (draft: CatalogDraft) => void
}

/** The fields of the catalog form. */
export function CatalogFields({ draft, problems, onChange }: CatalogFieldsProps) {
  const { catalogType } = draft
  const set = (part: Partial<CatalogDraft>): void => onChange({ ...draft, ...part })
  return (
    <div className={classes.fields}>
      <NativeSelect
        label={strings.type}
        description={strings.typeHelp[catalogType]}
        data={CATALOG_TYPES.map((value) => ({ value, label: strings.types[value] }))}
        value={catalogType}
        onChange={({ currentTarget }) => set({ catalogType: currentTarget.value as CatalogType })}
      />
      <TextInput
        label={strings.name}
        description={strings.nameHelp}
        required
        value={draft.catalogName}
        error={problems.get('catalog_name')}
        onChange={({ currentTarget }) => set({ catalogName: currentTarget.value })}
      />
      <TextInput
        label={strings.uri}
        description={strings.uriHelp[catalogType]}
        required={catalogType !== 'hadoop'}
        value={draft.uri}
        error={problems.get('uri')}
        onChange={({ currentTarget }) => set({ uri: currentTarget.value })}
      />
      {isSqlite(draft) && (
        <Checkbox
          label={strings.create}
          description={strings.createHelp}
          checked={draft.create}
          onChange={({ currentTarget }) => set({ create: currentTarget.checked })}
        />
      )}
      <TextInput
        label={strings.warehouse}
        description={strings.warehouseHelp}
        required
        value={draft.warehouse}
        error={problems.get('warehouse')}
        onChange={({ currentTarget }) => set({ warehouse: currentTarget.value })}
      />
      <PropertyRows rows={draft.properties} problems={problems} onChange={(properties) => set({ properties })} />
    </div>
  )
}
