import { useQuery } from '@tanstack/react-query'
import { definitionQuery } from '../../api/definitions.ts'
import { useCan } from '../../api/session.ts'
import { DesignerIcon, EditIcon, PlusIcon, TrashIcon, UploadIcon } from '../../components/icons.tsx'
import type { Command, CommandSource } from '../../navigation.ts'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { commands as commandWords } from '../../strings/commands.ts'
import { definitionPageStrings as pageWords, definitionStrings as words } from '../../strings/pipelines/designer.ts'
import { useOpenObject } from '../../use-open-object.ts'
import { DEFINITION_TABS } from './board.ts'

/** What can be done to the open definition, its views, and new definitions. */
export const useDefinitionCommands: CommandSource = () => {
  const id = useOpenObject('/definitions/$id')
  const canEdit = useCan('DataEngineer')
  const { data } = useQuery({ ...definitionQuery(id ?? ''), enabled: id !== undefined })
  const anywhere: readonly Command[] = [
    { id: 'create', label: `${words.create} …`, icon: PlusIcon, to: '/definitions?action=create' },
    { id: 'import', label: `${words.import} …`, also: words.title, icon: UploadIcon, to: '/definitions?action=import' },
  ]
  return {
    here: data && id !== undefined ? commandsOf(data.name, canEdit && managedNotice(data) === undefined) : [],
    anywhere: canEdit ? anywhere : [],
  }
}

function commandsOf(about: string, canEdit: boolean): readonly Command[] {
  const changes: readonly Command[] = [
    { id: 'edit', label: `${pageWords.edit} …`, about, icon: EditIcon, search: { action: 'edit' } },
    { id: 'remove', label: `${pageWords.remove} …`, about, icon: TrashIcon, search: { action: 'remove' } },
  ]
  return [
    ...(canEdit ? changes : []),
    ...DEFINITION_TABS.map((tab) => ({
      id: `tab-${tab}`,
      label: commandWords.open(pageWords.tabs[tab]),
      about,
      icon: DesignerIcon,
      search: { tab: tab === 'graph' ? '' : tab, node: '' },
    })),
  ]
}
