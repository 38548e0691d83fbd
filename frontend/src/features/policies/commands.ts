import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/session.ts'
import type { Policy } from '../../api/types.ts'
import { EditIcon, PlusIcon, PolicyIcon, TrashIcon } from '../../components/icons.tsx'
import type { Command, CommandSource } from '../../navigation.ts'
import { policies as words } from '../../strings/policies.ts'
import { useOpenObject } from '../../use-open-object.ts'
import { policyQuery } from './api.ts'
import { isEditable } from './policy-dialogs.ts'

/** What a lead can do to the open policy, and a new policy. */
export const usePolicyCommands: CommandSource = () => {
  const id = useOpenObject('/policies/$id')
  const isLead = useCan('LeadDataEngineer')
  const { data } = useQuery({ ...policyQuery(id ?? ''), enabled: id !== undefined })
  return {
    here: data && id !== undefined && isLead && isEditable(data) ? commandsOf(data) : [],
    anywhere: isLead ? [{ id: 'policy', label: words.create, icon: PlusIcon, to: '/policies/new' }] : [],
  }
}

function commandsOf({ id, name, mode }: Policy): readonly Command[] {
  const change = mode === 'active' ? words.pause : words.activate
  return [
    { id: 'mode', label: `${change.action} …`, about: name, icon: PolicyIcon, search: { action: 'mode' } },
    { id: 'edit', label: words.edit, about: name, icon: EditIcon, to: `/policies/${encodeURIComponent(id)}/edit` },
    { id: 'deletion', label: `${words.remove} …`, about: name, icon: TrashIcon, search: { action: 'deletion' } },
  ]
}
