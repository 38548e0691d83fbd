import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/session.ts'
import { StopIcon } from '../../components/icons.tsx'
import type { CommandSource } from '../../navigation.ts'
import { operationStrings } from '../../strings/operations.ts'
import { useOpenObject } from '../../use-open-object.ts'
import { operationQuery } from './api.ts'
import { operationName } from './operation-words.ts'

/** The end of the open operation while it runs. */
export const useOperationCommands: CommandSource = () => {
  const id = useOpenObject('/operations/$id')
  const canCancel = useCan('DataEngineer')
  const { data } = useQuery({ ...operationQuery(id ?? ''), enabled: id !== undefined && canCancel })
  if (data?.state !== 'running' || id === undefined || !canCancel) return NOTHING
  const about = `${operationName(data.operation)} ${data.table}`
  const cancel = { id: 'cancel', label: `${operationStrings.cancel.action} …`, about, icon: StopIcon }
  return { here: [{ ...cancel, search: { action: 'cancel' } }], anywhere: [] }
}

const NOTHING = { here: [], anywhere: [] }
