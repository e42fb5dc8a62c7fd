# SPDX-License-Identifier: BSD-3-Clause
# bash completion for uroce. A new command goes into `commands`, or `pcap` for one of that group; its options into a line of
# its own. tests/tools/manual_test.py compares all of it with what --help prints.

_uroce_options() {  # COMMAND: its options
  case $1 in
    '') echo '--help --version' ;;
    bench) echo '--help --size --op --pcap --repeats --ms --core --hugepages --json' ;;
    pcap) echo '--help' ;;
    'pcap check') echo '--help --json' ;;
    'pcap replay') echo '--help --as --json' ;;
    'pcap show') echo '--help --first --count --qp --json' ;;
    devices) echo '--help --port --json' ;;
    doctor) echo '--help --port --json' ;;
    perf)
      echo '--help --port --address --op --lat --bw --size --all --iterations --seconds --depth --qps --mtu --window' \
        '--timeout --verify --oob-port --bind --wait --max-frame --fault --cc --line-rate --threading --idle --core --hugepages --json'
      ;;
  esac
}

_uroce_values() {  # COMMAND OPTION: what may follow the option; "?" for what can't be listed, nothing for a flag
  case "$1 $2" in
    'pcap replay --as') echo 'responder requester' ;;
    'pcap show --first' | 'pcap show --count' | 'pcap show --qp') echo '?' ;;
    *' --port' | *' -d')
      echo 'net_memif0,role=server,socket=/tmp/u.sock,socket-abstract=no,bsize=4608' \
        'net_memif0,role=client,socket=/tmp/u.sock,socket-abstract=no,bsize=4608' 'net_af_packet0,iface=' 'net_tap0,iface=' net_null0
      ;;
    'bench --op') echo 'send write' ;;
    'bench --size' | 'bench -s' | 'bench --repeats' | 'bench -r' | 'bench --ms' | 'bench --core') echo '?' ;;
    'perf --op') echo 'send write read fetch_add cmp_swap' ;;
    'perf --mtu' | 'perf -m') echo '256 512 1024 2048 4096' ;;
    'perf --cc') echo 'none dcqcn fixed_rate' ;;
    'perf --threading') echo 'single dedicated' ;;
    'perf --idle') echo 'spin yield nap' ;;
    'perf --fault') echo 'drop= dup= reorder= corrupt= truncate= burst= burst_length= reorder_depth= seed=' ;;
    'perf --address' | 'perf --size' | 'perf -s' | 'perf --iterations' | 'perf -n' | 'perf --seconds' | 'perf --depth' | \
      'perf -q' | 'perf --qps' | 'perf --window' | 'perf --timeout' | 'perf --oob-port' | 'perf --bind' | 'perf --wait' | \
      'perf --max-frame' | 'perf --line-rate' | 'perf --core') echo '?' ;;
  esac
}

_uroce() {
  local commands='bench devices doctor pcap perf' pcap='check replay show'
  local current=${COMP_WORDS[COMP_CWORD]} command='' before list='' i word words
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case "$command $word" in
      ' bench' | ' pcap' | ' devices' | ' doctor' | ' perf') command=$word ;;
      'pcap check' | 'pcap replay' | 'pcap show') command="pcap $word" ;;
    esac
  done
  before=${COMP_WORDS[COMP_CWORD - 1]}
  if [ "$current" = '=' ]; then
    before=${COMP_WORDS[COMP_CWORD - 1]} current=''
  elif [ "$before" = '=' ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  words=$(_uroce_values "$command" "$before")
  if [ "$words" = '?' ]; then return; fi
  if [ -z "$words" ]; then
    case $command in
      '') words=$commands ;;
      pcap) words=$pcap ;;
    esac
    if [[ $current == -* ]]; then words=$(_uroce_options "$command"); fi
  fi
  if [ -n "$words" ]; then
    if [[ "$command $before" == 'perf --op' && $current == *,* ]]; then list=${current%,*},; fi
    mapfile -t COMPREPLY < <(compgen -P "$list" -W "$words" -- "${current#"$list"}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif [[ $command == pcap\ * || "$command $before" == 'bench --pcap' ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [ "$command" = perf ]; then
    mapfile -t COMPREPLY < <(compgen -A hostname -- "$current")
  fi
}

complete -F _uroce uroce
