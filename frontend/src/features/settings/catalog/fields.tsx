import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { CATALOG_TYPES, type CatalogForm, isSqlite } from './form.ts'
import { PropertyRows } from './property-rows.tsx'
import classes from '../settings.module.css'

interface CatalogFieldsProps {
  readonly form: UseFormReturnType<CatalogForm>
  readonly nameHelp: string
  /** Whether the name can no longer change, because tables are named with it. */
  readonly isNameFixed: boolean
}

/** The fields of the catalog form. */
export function CatalogFields({ form, nameHelp, isNameFixed }: CatalogFieldsProps) {
  const { catalog_type: type } = form.values
  return (
    <div className={classes.fields}>
      <NativeSelect
        label={strings.type}
        description={strings.typeHelp[type]}
        data={CATALOG_TYPES.map((value) => ({ value, label: strings.types[value] }))}
        {...form.getInputProps('catalog_type')}
      />
      <TextInput
        label={strings.name}
        description={nameHelp}
        required
        readOnly={isNameFixed}
        variant={isNameFixed ? 'filled' : 'default'}
        {...form.getInputProps('catalog_name')}
      />
      <TextInput
        label={strings.uri}
        description={strings.uriHelp[type]}
        required={type !== 'hadoop'}
        {...form.getInputProps('uri')}
      />
      {isSqlite(form.values) && (
        <Checkbox
          label={strings.create}
          description={strings.createHelp}
          {...form.getInputProps('create', { type: 'checkbox' })}
        />
      )}
      <TextInput
        label={strings.warehouse}
        description={strings.warehouseHelp}
        required
        {...form.getInputProps('warehouse')}
      />
      <PropertyRows form={form} />
    </div>
  )
}
