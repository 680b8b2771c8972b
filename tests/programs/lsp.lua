-- SPDX-License-Identifier: BSD-3-Clause
-- Neovim as the client of `spoor lsp`, as a user has it: nvim --headless --clean -S lsp.lua, in a directory where it may write.
-- Writes "ok …" and "not ok …" lines to the file "results".
local function say(is_right, what, why)
    local lines = { (is_right and "ok " or "not ok ") .. "neovim: " .. what }
    if not is_right then
        table.insert(lines, (vim.inspect(why):gsub("\n", " ")))
    end
    vim.fn.writefile(lines, "results", "a")
end

local function wait(condition)
    return vim.wait(10000, condition, 10)
end

local function main()
    vim.fn.writefile({
        'begin { $count = 1; printf("ä😀 %d\\n", $coutn); }',
        "uprobe:libc:malloc { @ = count(); }",
        "interval:s:1 { print(strf); }",
    }, "script.bt")
    vim.cmd("edit script.bt")
    local configuration = { name = "spoor", cmd = { "spoor", "lsp" }, root_dir = vim.fn.getcwd() }
    if vim.lsp.start then
        vim.lsp.start(configuration)
    else -- before Neovim 0.8
        vim.lsp.buf_attach_client(0, vim.lsp.start_client(configuration))
    end

    local function messages()
        return vim.tbl_map(function(item)
            return item.message
        end, vim.diagnostic.get(0))
    end
    say(wait(function()
        return #vim.diagnostic.get(0) == 2
    end), "diagnostics come", messages())
    local first = vim.diagnostic.get(0, { lnum = 0 })[1] or {}
    -- Neovim counts columns in bytes: the server's UTF-16 was understood if the variable is where it is.
    say(first.col == 42 and first.end_col == 48, "the place behind other alphabets", first)

    vim.api.nvim_win_set_cursor(0, { 1, 42 })
    vim.ui.select = function(items, _, choose)
        choose(items[1], 1)
    end
    vim.lsp.buf.code_action()
    say(wait(function()
        return vim.fn.getline(1):find("$count);", 1, true) ~= nil
    end), "a code action puts the right name there", vim.fn.getline(1))
    say(wait(function()
        return #vim.diagnostic.get(0) == 1
    end), "what was fixed is not reported any more", messages())

    vim.api.nvim_win_set_cursor(0, { 2, 3 })
    vim.lsp.buf.hover()
    local shown = ""
    say(wait(function()
        for _, window in ipairs(vim.api.nvim_list_wins()) do
            if vim.api.nvim_win_get_config(window).relative ~= "" then
                shown = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), "\n")
            end
        end
        return shown:find("uprobe:", 1, true) ~= nil and shown:find("malloc", 1, true) ~= nil
    end), "hover names the probe", shown)

    vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
    vim.api.nvim_win_set_cursor(0, { 3, 24 })
    local words = ""
    vim.api.nvim_create_autocmd("CompleteChanged", {
        callback = function()
            words = words .. vim.inspect(vim.tbl_map(function(item)
                return item.word
            end, vim.fn.complete_info({ "items" }).items))
        end,
    })
    vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("a<C-x><C-o>", true, false, true), "n", false)
    local timer, tries, is_over = vim.loop.new_timer(), 1000, false
    timer:start(10, 10, vim.schedule_wrap(function()
        if is_over then -- several ticks may have been waiting for this one
            return
        end
        tries = tries - 1
        local line = vim.fn.getline(3)
        local is_there = (words .. line):find("strftime", 1, true) ~= nil
        if is_there or tries == 0 then
            timer:stop()
            is_over = true
            say(is_there, "completion", words .. line)
            vim.cmd("qall!")
        end
    end))
end

local is_done, why = pcall(main)
if not is_done then
    say(false, "the client runs", why)
    vim.cmd("cquit")
end
