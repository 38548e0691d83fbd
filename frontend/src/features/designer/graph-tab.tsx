import { Button, NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { VersionSummary } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/states.tsx'
import { definitionStrings, designerStrings } from '../../strings/designer.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { nodeTypesQuery, versionQuery } from './api.ts'
import { CompareView } from './compare-view.tsx'
import { VersionEditor } from './graph-editor.tsx'
import classes from './designer.module.css'

interface GraphTabProps {
  readonly definitionId: string
  /** Newest first. */
  readonly versions: readonly VersionSummary[]
}

/** The chosen version on the canvas, alone or compared with another one. */
export function GraphTab({ definitionId, versions }: GraphTabProps) {
  const [{ version: wanted, compare }, changeSearch] = useSearchParams()
  const canEdit = useCan('DataEngineer')
  const newest = versions[0]
  const [first] = useState(newest?.id) // stays when a newer one comes: what is edited must not change under the hands
  const shownId = versions.find(({ id }) => id === wanted)?.id ?? first ?? newest?.id ?? ''
  const comparedId = versions.find(({ id }) => id === compare && id !== shownId)?.id
  const shown = useQuery({ ...versionQuery(definitionId, shownId), enabled: shownId !== '' })
  const types = useQuery(nodeTypesQuery)
  const error = shown.error ?? types.error
  if (error) return <ErrorState error={error} onRetry={() => void Promise.all([shown.refetch(), types.refetch()])} />
  return (
    <div className={classes.graphTab}>
      <div className={classes.pickers}>
        <VersionPicker
          label={designerStrings.version}
          versions={versions}
          value={shownId}
          onChange={(id) => changeSearch({ version: id, node: undefined })}
        />
        {versions.length > 1 && (
          <VersionPicker
            label={designerStrings.compare}
            nothing={designerStrings.compareNothing}
            versions={versions.filter(({ id }) => id !== shownId)}
            value={comparedId ?? ''}
            onChange={(id) => changeSearch({ compare: id === '' ? undefined : id, version: shownId, node: undefined })}
          />
        )}
        {comparedId !== undefined && (
          <>
            <Button
              variant="default"
              onClick={() => changeSearch({ version: comparedId, compare: shownId, node: undefined })}
            >
              {designerStrings.diff.swap}
            </Button>
            <Button variant="default" onClick={() => changeSearch({ compare: undefined })}>
              {designerStrings.diff.close}
            </Button>
          </>
        )}
      </div>
      {shown.data && types.data && newest ? (
        comparedId === undefined ? (
          <VersionEditor
            key={shown.data.id}
            version={shown.data}
            types={types.data}
            readOnly={!canEdit}
            newest={newest.version}
          />
        ) : (
          <CompareView version={shown.data} fromId={comparedId} types={types.data} />
        )
      ) : (
        <Loading />
      )}
    </div>
  )
}

interface PickerProps {
  readonly label: string
  readonly versions: readonly VersionSummary[]
  readonly value: string
  readonly nothing?: string
  readonly onChange: (id: string) => void
}

function VersionPicker({ label, versions, value, nothing, onChange }: PickerProps) {
  const options = versions.map(({ id, version, environment }) => ({
    value: id,
    label: designerStrings.versionOption(version, definitionStrings.environments[environment]),
  }))
  return (
    <label className={classes.picker}>
      <span className={classes.hint}>{label}</span>
      <NativeSelect
        data={nothing === undefined ? options : [{ value: '', label: nothing }, ...options]}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  )
}
