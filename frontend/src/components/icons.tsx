import {
  type Icon,
  IconActivity,
  IconAdjustmentsHorizontal,
  IconAlertTriangle,
  IconArchive,
  IconArrowBackUp,
  IconArrowDown,
  IconArrowForwardUp,
  IconArrowUp,
  IconCalendarTime,
  IconCheck,
  IconChevronDown,
  IconChevronRight,
  IconCircleCheck,
  IconCopy,
  IconDatabase,
  IconDeviceDesktop,
  IconDots,
  IconDownload,
  IconFileText,
  IconInbox,
  IconInfoCircle,
  IconLayoutDashboard,
  IconLayoutGrid,
  IconListDetails,
  IconMaximize,
  IconMenu2,
  IconMessageDots,
  IconMinus,
  IconMoon,
  IconNotebook,
  IconPencil,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlus,
  IconSchema,
  IconSearch,
  IconSitemap,
  IconStack2,
  IconSun,
  IconTable,
  IconTrash,
  IconTerminal2,
  IconUpload,
  IconUser,
  IconX,
} from '@tabler/icons-react'

interface IconProps {
  /** Edge in px at a text size of 16 px; default 16. */
  readonly size?: number
}

/**
 * An icon of Tabler as this page shows it: it grows with the text, and screen readers skip it, because there is always
 * a label beside or around it.
 */
function pageIcon(Drawing: Icon) {
  return function PageIcon({ size = 16 }: IconProps) {
    return <Drawing size={`${size / 16}rem`} aria-hidden="true" focusable="false" />
  }
}

export const OverviewIcon = pageIcon(IconLayoutDashboard)
export const InboxIcon = pageIcon(IconInbox)
export const TablesIcon = pageIcon(IconTable)
export const SqlIcon = pageIcon(IconTerminal2)
export const LineageIcon = pageIcon(IconSitemap)
export const PipelineIcon = pageIcon(IconActivity)
export const DesignerIcon = pageIcon(IconSchema)
export const ApprovalIcon = pageIcon(IconCircleCheck)
export const EnvironmentIcon = pageIcon(IconStack2)
export const AgentIcon = pageIcon(IconMessageDots)
export const NotebookIcon = pageIcon(IconNotebook)
export const PolicyIcon = pageIcon(IconCalendarTime)
export const OperationsIcon = pageIcon(IconListDetails)
export const QuarantineIcon = pageIcon(IconArchive)
export const AuditIcon = pageIcon(IconFileText)
export const SettingsIcon = pageIcon(IconAdjustmentsHorizontal)
export const CatalogIcon = pageIcon(IconDatabase)
export const SearchIcon = pageIcon(IconSearch)
export const MenuIcon = pageIcon(IconMenu2)
export const UserIcon = pageIcon(IconUser)
export const SunIcon = pageIcon(IconSun)
export const MoonIcon = pageIcon(IconMoon)
export const SystemIcon = pageIcon(IconDeviceDesktop)
export const CheckIcon = pageIcon(IconCheck)
export const CloseIcon = pageIcon(IconX)
export const CopyIcon = pageIcon(IconCopy)
export const WarningIcon = pageIcon(IconAlertTriangle)
export const InfoIcon = pageIcon(IconInfoCircle)
export const ArrowUpIcon = pageIcon(IconArrowUp)
export const ArrowDownIcon = pageIcon(IconArrowDown)
export const ChevronRightIcon = pageIcon(IconChevronRight)
export const ChevronDownIcon = pageIcon(IconChevronDown)
export const PlusIcon = pageIcon(IconPlus)
export const MinusIcon = pageIcon(IconMinus)
export const EditIcon = pageIcon(IconPencil)
export const TrashIcon = pageIcon(IconTrash)
export const PlayIcon = pageIcon(IconPlayerPlay)
export const StopIcon = pageIcon(IconPlayerStop)
export const MoreIcon = pageIcon(IconDots)
export const FitIcon = pageIcon(IconMaximize)
export const UndoIcon = pageIcon(IconArrowBackUp)
export const RedoIcon = pageIcon(IconArrowForwardUp)
export const ArrangeIcon = pageIcon(IconLayoutGrid)
export const DownloadIcon = pageIcon(IconDownload)
export const UploadIcon = pageIcon(IconUpload)
