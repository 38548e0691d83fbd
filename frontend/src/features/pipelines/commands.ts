import { useQuery } from '@tanstack/react-query'
import type { ComponentType } from 'react'
import { useCan } from '../../api/session.ts'
import type { Pipeline } from '../../api/types.ts'
import { PipelineIcon, PlayIcon, PlusIcon, StopIcon, TablesIcon, TrashIcon } from '../../components/icons.tsx'
import type { Command, CommandSource } from '../../navigation.ts'
import { commands as commandWords } from '../../strings/commands.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { useOpenObject } from '../../use-open-object.ts'
import { pipelineQuery } from './api.ts'
import { nameOf } from './live-cells.tsx'
import { useLiveRow } from './monitor/store.ts'
import { allowedDialogs, type PipelineDialog, roleFor } from './pipeline-dialogs.ts'
import { PIPELINE_TABS } from './pipeline-tabs.ts'

const ICONS: Readonly<Record<PipelineDialog, ComponentType>> = { stop: StopIcon, restart: PlayIcon, remove: TrashIcon }

/** What can be done to the open pipeline, its views, and the start of another one. */
export const usePipelineCommands: CommandSource = () => {
  const id = useOpenObject('/pipelines/$id')
  const live = useLiveRow(id ?? '')
  const { data } = useQuery({ ...pipelineQuery(id ?? ''), enabled: id !== undefined })
  const pipeline = id === undefined ? undefined : (live?.pipeline ?? data)
  const canAct = useCan(pipeline ? roleFor(pipeline) : 'DataEngineer')
  const canStart = useCan('DataEngineer')
  return {
    here: pipeline ? commandsOf(pipeline, canAct) : [],
    anywhere: canStart
      ? [{ id: 'start', label: words.start, also: words.newOne, icon: PlusIcon, to: '/pipelines/new' }]
      : [],
  }
}

function commandsOf(pipeline: Pipeline, canAct: boolean): readonly Command[] {
  const about = nameOf(pipeline)
  const sink = pipeline.sink_table
  return [
    ...(canAct ? allowedDialogs(pipeline) : []).map((name) => ({
      id: name,
      label: `${words[name].action} …`,
      about,
      icon: ICONS[name],
      search: { action: name },
    })),
    ...PIPELINE_TABS.map((tab) => ({
      id: `tab-${tab}`,
      label: commandWords.open(words.detail.tabs[tab]),
      about,
      icon: PipelineIcon,
      search: { tab: tab === 'charts' ? '' : tab },
    })),
    { id: 'sink', label: commandWords.open(sink), about, icon: TablesIcon, to: `/tables/${encodeURIComponent(sink)}` },
  ]
}
